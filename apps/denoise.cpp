// halocline denoise
#include "algorithms/denoise.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "algorithms/registry.hpp"
#include "apps/family_options.hpp"
#include "apps/frame_options.hpp"
#include "apps/job.hpp"
#include "apps/report.hpp"
#include "apps/subcommands.hpp"
#include "apps/validators.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

struct DenoiseCommand {
  std::string input, weights, output, schedule = "default";
  FrameOptions frames;  // its first input is `input`
  bool gap_given = false, schedule_given = false, iterations_given = false;
  DenoiseParameters parameters;
  RegulariserOptions regulariser;

  bool descends() const { return parameters.method == "tvgd"; }
  bool filters() const { return is_filter(parameters.method); }
};

void check_options(const DenoiseCommand& command) {
  const auto& method = command.parameters.method;
  check_denoise_parameters(command.parameters);
  if (method == "spdu" && command.weights.empty())
    throw InputError(
        "--weights is missing: spdu needs the noise variance of each voxel; 'halocline fdk --variance-out' makes it, "
        "or use --method "
        "pdu");
  if (method != "spdu" && !command.weights.empty())
    throw InputError(fmt::format("--weights is for --method spdu; {} takes none", method));
  if (command.descends() && (command.gap_given || command.schedule_given))
    throw InputError(
        fmt::format("{} is for --method pdu and spdu; tvgd takes --step, --iterations and --target-fidelity",
                    command.gap_given ? "--gap" : "--schedule"));
  if (command.filters() && (command.gap_given || command.schedule_given || command.iterations_given))
    throw InputError(fmt::format("{} is for methods that iterate; {} takes {}",
                                 command.gap_given        ? "--gap"
                                 : command.schedule_given ? "--schedule"
                                                          : "--iterations",
                                 method, filter_options(method)));
}

// No dual, no gap: nothing of such quantities in the report.
void put(nlohmann::json& results, const char* name, double value) {
  if (std::isfinite(value)) results[name] = value;
}

nlohmann::json results_json(const DenoiseCommand& command, const DenoiseResult& result) {
  nlohmann::json results{{"method", command.parameters.method}, {"iterations", result.iterations},
                         {"converged", result.converged},       {"chosen_by", result.alpha_choice},
                         {"noise_sigma", result.noise_sigma},   {"fidelity", result.fidelity}};
  if (command.filters()) {  // nothing was chosen, and there is nothing to converge to
    results.erase("converged");
    results.erase("chosen_by");
    return results;
  }
  put(results, "alpha", result.alpha);
  put(results, "lambda", result.lambda);
  put(results, "gap", result.gap);
  put(results, "relative_gap", result.relative_gap);
  put(results, "primal", result.primal);
  put(results, "dual", result.dual);
  if (command.frames.inputs.size() > 1) results["frames"] = command.frames.inputs.size();
  if (command.parameters.time.weight) results["time_weight"] = *command.parameters.time.weight;
  if (command.descends()) {
    put(results, "step", result.step);
    put(results, "epsilon", result.epsilon);
    put(results, "target_fidelity", result.target_fidelity);
  } else {
    results["schedule"] = command.schedule;
    results.update(regulariser_json(result.regulariser));
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
  if (command.filters())
    return fmt::format("{}; RMS change {:.4g}, estimated noise {:.4g}", command.parameters.method,
                       result.fidelity / std::sqrt(voxels), result.noise_sigma);
  if (command.descends())
    return fmt::format("tvgd with steps of {:.4g}, stopped by {}; {} iterations, RMS change {:.4g}", result.step,
                       result.alpha_choice, result.iterations, result.fidelity / std::sqrt(voxels));
  return fmt::format("{} with alpha {:.6g} ({}){}, schedule {}; {} iterations, relative gap {:.3g}, RMS change {:.4g}",
                     command.parameters.method, result.alpha, result.alpha_choice,
                     regulariser_text(result.regulariser, command.regulariser.reference), command.schedule,
                     result.iterations, result.relative_gap, result.fidelity / std::sqrt(voxels));
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

void run_denoise(Job& job, DenoiseCommand& command) {
  command.parameters.schedule = schedule_named(command.schedule);
  command.input = command.frames.inputs.front();
  command.regulariser.put_into(command.parameters.regulariser);
  check_frame_options(command.frames, command.parameters);
  check_options(command);
  const Grid first = input_frames(job, command.frames), grid = input_grid(command.frames, first);
  command.parameters.time.depth = command.frames.several() ? first.size[2] : 1;
  if (!command.weights.empty()) {
    const Grid weights = job.input_image("--weights", command.weights).grid;
    require_same_grid(grid, "'" + command.input + "'", weights, "--weights '" + command.weights + "'");
  }
  const std::string& guide = command.regulariser.reference;
  if (!guide.empty())
    require_same_grid(grid, "'" + command.input + "'", job.input_image("--reference", guide).grid,
                      "--reference '" + guide + "'");
  const auto outputs = output_frames(job, command.frames, command.output);
  const Plan plan = plan_denoise(grid, command.parameters, budgets(job.devices()));
  if (job.dry_run()) return job.print(plan.text());

  const Volume volume = read_frames(job, command.frames, first);
  const Volume weights = command.weights.empty() ? Volume() : job.read(command.weights);
  const Volume reference = guide.empty() ? Volume() : job.read(guide);
  DenoiseResult result = job.timed("denoise", [&] {
    return denoise(volume, command.weights.empty() ? nullptr : &weights, command.parameters, job.devices(),
                   job.run_options(), guide.empty() ? nullptr : &reference);
  });
  write_frames(job, result.output, outputs, first);

  RunResult run;
  run.iterations = result.iterations;
  run.plan = result.plan;
  run.seconds = result.seconds;
  run.peak_bytes = result.peak_bytes;
  run.bus_bytes = result.bus_bytes;
  job.record(run, "denoise");
  job.results() = results_json(command, result);
  warn_unless_converged(command, result);
  job.say(fmt::format("{}: {}, {}{}", command.output, frames_summary(command.frames, first),
                      what_was_done(command, result, static_cast<double>(grid.count())), job.how(run)));
}

}  // namespace

void add_denoise(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("denoise", "Remove noise from a volume by total variation");
  auto command = std::make_shared<DenoiseCommand>();
  auto& p = command->parameters;
  sub->add_option("-i,--input", command->frames.inputs, "Noisy volume; for pdu4d several, in the order of time")
      ->required()
      ->default_str("")
      ->type_name("FILE");
  sub->add_option("--method", p.method,
                  "pdu: the exact minimum of 1/2 ||u-f||^2 + 1/alpha TV(u), with a certificate; spdu: the same, "
                  "weighted with the noise "
                  "variance of each voxel; pdu4d: time frames together; tvgd: steps down the total variation. To "
                  "compare with: gaussian, median, nlm "
                  "(non-local means)")
      ->check(CLI::IsMember(denoiser_names()))
      ->required()
      ->default_str("");
  sub->add_option("--alpha", p.alpha,
                  "pdu, spdu: weight of the data, 1/(grey value mm); smaller is smoother. Default: chosen so that what "
                  "is taken away is as "
                  "large as the noise estimated in the volume (discrepancy principle)")
      ->check(positive_number())
      ->type_name("A");
  sub->add_option("--weights", command->weights,
                  "spdu: noise variance of each voxel on the same grid, as fdk --variance-out makes it")
      ->type_name("FILE");
  auto* iterations = sub->add_option("--iterations", p.iterations, "At most so many iterations")
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
  add_regulariser_options(*sub, command->regulariser, p.regulariser);
  add_filter_options(*sub, p.filter);
  add_time_options(*sub, command->frames, p.time);
  sub->add_option("-o,--output", command->output,
                  "Volume to write; for pdu4d with a place for the frames' numbers, "
                  "from 0 on, as in frame_%02d.mha")
      ->required()
      ->type_name("FILE");
  sub->footer("Example:\n  halocline denoise -i volume.mha --method pdu -o denoised.mha");
  sub->callback([&action, command, gap, schedule, iterations] {
    command->iterations_given = iterations->count() > 0;
    command->gap_given = gap->count() > 0;
    command->schedule_given = schedule->count() > 0;
    action = [command](Job& job) { run_denoise(job, *command); };
  });
}

}  // namespace halocline
