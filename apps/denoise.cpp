// halocline denoise
#include "algorithms/denoise.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "algorithms/noise_map.hpp"
#include "algorithms/registry.hpp"
#include "apps/job.hpp"
#include "apps/report.hpp"
#include "apps/strength_options.hpp"
#include "apps/subcommands.hpp"
#include "apps/validators.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

struct DenoiseCommand {
  std::string input, weights, output, schedule = "default";
  bool gap_given = false, schedule_given = false;
  DenoiseParameters parameters;
  StrengthOptions strength;

  bool descends() const { return parameters.method == "tvgd"; }
  // --weights is a file
  bool weights_given() const { return !weights.empty() && weights != "estimate" && weights != "halves"; }
};

void check_options(const DenoiseCommand& command) {
  const auto& method = command.parameters.method;
  check_denoise_parameters(command.parameters);
  if (method == "spdu" && command.weights.empty())
    throw InputError(
        "--weights is missing: spdu needs the noise variance of each voxel; 'halocline fdk --variance-out' makes it, "
        "--weights halves or estimate finds it, or use --method pdu");
  if (method != "spdu" && !command.weights.empty())
    throw InputError(fmt::format("--weights is for --method spdu; {} takes none", method));
  if (command.descends() && (command.gap_given || command.schedule_given))
    throw InputError(
        fmt::format("{} is for --method pdu and spdu; tvgd takes --step, --iterations and --target-fidelity",
                    command.gap_given ? "--gap" : "--schedule"));
}

// No dual, no gap: nothing of such quantities in the report.
void put(nlohmann::json& results, const char* name, double value) {
  if (std::isfinite(value)) results[name] = value;
}

nlohmann::json results_json(const DenoiseCommand& command, const DenoiseResult& result) {
  nlohmann::json results{{"method", command.parameters.method}, {"iterations", result.iterations},
                         {"converged", result.converged},       {"chosen_by", result.alpha_choice},
                         {"noise_sigma", result.noise_sigma},   {"fidelity", result.fidelity}};
  put(results, "alpha", result.alpha);
  put(results, "lambda", result.lambda);
  put(results, "gap", result.gap);
  put(results, "relative_gap", result.relative_gap);
  put(results, "primal", result.primal);
  put(results, "dual", result.dual);
  if (command.descends()) {
    put(results, "step", result.step);
    put(results, "epsilon", result.epsilon);
    put(results, "target_fidelity", result.target_fidelity);
  } else {
    results["schedule"] = command.schedule;
  }
  for (const auto& record : result.history) {
    nlohmann::json entry{
        {"iteration", record.iteration}, {"total_variation", record.total_variation}, {"fidelity", record.fidelity}};
    put(entry, "primal", record.primal);
    put(entry, "relative_gap", record.relative_gap);
    results["history"].push_back(std::move(entry));
  }
  return results;
}

std::string what_was_done(const DenoiseCommand& command, const DenoiseResult& result, double voxels) {
  if (command.descends())
    return fmt::format("tvgd with steps of {:.4g}, stopped by {}; {} iterations, RMS change {:.4g}", result.step,
                       result.alpha_choice, result.iterations, result.fidelity / std::sqrt(voxels));
  return fmt::format("{} with alpha {:.6g} ({}), schedule {}; {} iterations, relative gap {:.3g}, RMS change {:.4g}",
                     command.parameters.method, result.alpha, result.alpha_choice, command.schedule, result.iterations,
                     result.relative_gap, result.fidelity / std::sqrt(voxels));
}

void warn_unless_converged(const DenoiseCommand& command, const DenoiseResult& result) {
  if (result.converged) return;
  if (!command.descends())
    spdlog::warn(
        "the relative gap of {:g} was not reached: it is {:.3g} after {} iterations; give more --iterations, or a "
        "larger --gap",
        command.parameters.gap, result.relative_gap, result.iterations);
  else if (std::isfinite(result.target_fidelity))
    spdlog::warn(
        "the target of ||u - f|| = {:.4g} was not reached: it is {:.4g} after {} iterations; give more --iterations",
        result.target_fidelity, result.fidelity, result.iterations);
}

// The variances that --weights says; empty without it.
Volume weights_of(Job& job, const DenoiseCommand& command, const Volume& volume, const Volume& half_a,
                  const Volume& half_b) {
  if (command.weights.empty()) return {};
  if (command.weights_given()) return job.read(command.weights);
  auto map = job.timed("noise map", [&] {
    return command.weights == "estimate" ? noise_map(volume)
                                         : noise_map(half_a, half_b, "'" + command.strength.files[0] + "'",
                                                     "'" + command.strength.files[1] + "'");
  });
  job.results()["weights"] = map.how;
  job.say(fmt::format("weights: noise {}, standard deviation {:.4g} to {:.4g}", map.how, map.least, map.most));
  return std::move(map.variance);
}

void run_denoise(Job& job, DenoiseCommand& command) {
  command.parameters.schedule = schedule_named(command.schedule);
  take_strength(command.strength, command.weights, command.parameters);
  check_options(command);
  const Grid grid = job.input_image("-i", command.input).grid;
  const auto same_grid = [&](const std::string& option, const std::string& path) {
    require_same_grid(grid, "'" + command.input + "'", job.input_image(option, path).grid, option + " '" + path + "'");
  };
  if (command.weights_given()) same_grid("--weights", command.weights);
  const auto& halves = command.strength.files;
  for (const auto& half : halves)
    if (!half.empty()) same_grid("--halves", half);
  job.output_image("-o", command.output);
  const Plan plan = plan_denoise(grid, command.parameters, budgets(job.devices()));
  if (job.dry_run()) return job.print(plan.text());

  const Volume volume = job.read(command.input);
  const Volume half_a = halves[0].empty() ? Volume() : job.read(halves[0]);
  const Volume half_b = halves[1].empty() ? Volume() : job.read(halves[1]);
  if (!halves[0].empty()) command.parameters.half_a = &half_a, command.parameters.half_b = &half_b;
  const Volume weights = weights_of(job, command, volume, half_a, half_b);
  DenoiseResult result = job.timed("denoise", [&] {
    return denoise(volume, command.weights.empty() ? nullptr : &weights, command.parameters, job.devices(),
                   job.run_options());
  });
  job.write(result.output, command.output);

  RunResult run;
  run.iterations = result.iterations;
  run.plan = result.plan;
  run.seconds = result.seconds;
  run.peak_bytes = result.peak_bytes;
  run.bus_bytes = result.bus_bytes;
  job.record(run, "denoise");
  job.results().update(results_json(command, result));
  warn_unless_converged(command, result);
  if (!result.warning.empty()) spdlog::warn("{}", result.warning);
  job.say(fmt::format("{}: {}, {}{}", command.output, grid_summary(grid),
                      what_was_done(command, result, static_cast<double>(grid.count())), job.how(run)));
}

}  // namespace

void add_denoise(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("denoise", "Remove noise from a volume by total variation");
  auto command = std::make_shared<DenoiseCommand>();
  auto& p = command->parameters;
  sub->add_option("-i,--input", command->input, "Noisy volume")->required()->type_name("FILE");
  sub->add_option("--method", p.method,
                  "pdu: the exact minimum of 1/2 ||u-f||^2 + 1/alpha TV(u), with a certificate; spdu: the same, "
                  "weighted with the noise "
                  "variance of each voxel; tvgd: steps down the total variation")
      ->check(CLI::IsMember(denoiser_names()))
      ->required()
      ->default_str("");
  add_strength_options(*sub, command->strength);
  sub->add_option(
         "--weights", command->weights,
         "spdu: noise variance of each voxel on the same grid, as fdk --variance-out makes it; halves: from the "
         "--halves; estimate: from the volume alone, less reliable, because fine texture passes for noise "
         "(halocline noise-map writes either)")
      ->type_name("FILE|halves|estimate");
  sub->add_option("--iterations", p.iterations, "At most so many iterations")
      ->check(whole_number_from(1))
      ->type_name("N");
  auto* gap = sub->add_option("--gap", p.gap, "pdu, spdu: stop at this relative duality gap")
                  ->check(positive_number())
                  ->type_name("G");
  auto* schedule =
      sub->add_option(
             "--schedule", command->schedule,
             "pdu, spdu: step sizes. default: Zhu & Chan's, scaled; chambolle-pock: with proof; seed: a published "
             "one that starts in the wrong direction, for comparison")
          ->check(CLI::IsMember({"default", "seed", "chambolle-pock"}));
  sub->add_option("--step", p.step,
                  "tvgd: RMS change of a voxel in one iteration, grey values. Default: a tenth of the estimated noise")
      ->check(positive_number())
      ->type_name("S");
  sub->add_option("--target-fidelity", p.target_fidelity,
                  "||u-f||_2 (grey value times the root of the number of voxels). tvgd: stop there; pdu, spdu: choose "
                  "alpha so that it is "
                  "reached. Default for tvgd without --step: the estimated noise")
      ->check(positive_number())
      ->type_name("F");
  sub->add_option("-o,--output", command->output, "Volume to write")->required()->type_name("FILE");
  sub->footer("Example:\n  halocline denoise -i volume.mha --method pdu -o denoised.mha");
  sub->callback([&action, command, gap, schedule] {
    command->gap_given = gap->count() > 0;
    command->schedule_given = schedule->count() > 0;
    action = [command](Job& job) { run_denoise(job, *command); };
  });
}

}  // namespace halocline
