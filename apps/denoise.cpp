// halocline denoise
#include "algorithms/denoise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <optional>

#include "algorithms/registry.hpp"
#include "apps/denoise_control.hpp"
#include "apps/io/png.hpp"
#include "apps/job.hpp"
#include "apps/preview.hpp"
#include "apps/report.hpp"
#include "apps/subcommands.hpp"
#include "apps/validators.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

struct DenoiseCommand {
  std::string input, weights, output, schedule = "default";
  bool gap_given = false, schedule_given = false;
  DenoiseParameters parameters;
  DenoiseControl control;

  bool descends() const { return parameters.method == "tvgd"; }
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
  results["stopped_by"] = what_ended(result, command.descends());
  for (std::size_t n = 0; n < result.stages.size(); ++n) {
    const auto& stage = result.stages[n];
    results["stages"].push_back({{"alpha", command.parameters.alpha_path[n]},
                                 {"output", path_output(command.output, command.parameters.alpha_path[n])},
                                 {"iterations", stage.last.iteration},
                                 {"relative_gap", stage.last.relative_gap},
                                 {"fidelity", stage.last.fidelity},
                                 {"converged", stage.converged}});
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

// Where the result goes: of a path, the file of its last alpha.
std::string output_of(const DenoiseCommand& command, const DenoiseResult& result) {
  return result.stages.empty() ? command.output : path_output(command.output, result.alpha);
}

// Claims every output, so that nothing is lost after hours.
void claim_outputs(Job& job, const DenoiseCommand& command) {
  if (command.parameters.alpha_path.empty()) job.output_image("-o", command.output);
  for (const double alpha : command.parameters.alpha_path)
    job.output_image("-o with --alpha-path", path_output(command.output, alpha));
  if (command.control.png.empty()) return;
  require_png("--png", command.control.png);
  job.output("--png", command.control.png);
}

// After Ctrl-C with --keep-partial, when what there is has been written.
[[noreturn]] void end_interrupted(Job& job, const DenoiseCommand& command, const DenoiseResult& result) {
  job.keep_report();
  const std::string state = command.descends() ? fmt::format("||u - f|| = {:.4g}", result.fidelity)
                                               : fmt::format("a relative gap of {:.3g}", result.relative_gap);
  throw Interrupted(fmt::format("interrupted: '{}' has the result after {} iterations, with {}{}",
                                output_of(command, result), result.iterations, state,
                                result.converged ? "; it had just been finished" : ""));
}

void run_denoise(Job& job, DenoiseCommand& command) {
  const auto& control = command.control;
  command.parameters.schedule = schedule_named(command.schedule);
  command.parameters.alpha_path = control.alphas();
  check_options(command);
  const Grid whole = job.input_image("-i", command.input).grid;
  const auto same_grid = [&](const char* option, const std::string& path) {
    if (path.empty()) return;
    require_same_grid(whole, "'" + command.input + "'", job.input_image(option, path).grid,
                      fmt::format("{} '{}'", option, path));
  };
  same_grid("--weights", command.weights);
  same_grid("--init", control.init);
  std::optional<Cutout> region, taken;  // what is wanted, and with its margin
  if (!control.roi.empty()) {
    region = parse_roi(control.roi, whole.size);
    taken = region->grown(roi_margin, whole.size);
  }
  const Grid grid = taken ? cut_out(whole, *taken) : whole;
  claim_outputs(job, command);
  const Plan plan = plan_denoise(grid, command.parameters, budgets(job.devices()));
  if (job.dry_run()) return job.print(plan.text());

  const auto read = [&](const std::string& path) {
    return path.empty() ? Volume() : taken ? job.read(path, *taken) : job.read(path);
  };
  const auto write = [&](const Volume& output, const std::string& path) {
    job.write(region ? cut_out(output, region->within(*taken)) : output, path);
  };
  const Volume volume = read(command.input), weights = read(command.weights), init = read(control.init);
  if (!control.init.empty()) command.parameters.init = &init;
  RunOptions options = job.run_options();
  options.time_limit = control.time_limit;
  options.keep_partial = control.keep_partial;
  std::vector<std::string> written;
  options.stage_output = [&](int stage, const Volume& output) {
    const std::string path =
        path_output(command.output, command.parameters.alpha_path[static_cast<std::size_t>(stage)]);
    write(output, path);
    written.resize(static_cast<std::size_t>(stage));
    written.push_back(path);
  };
  DenoiseResult result = job.timed("denoise", [&] {
    try {
      return denoise(volume, command.weights.empty() ? nullptr : &weights, command.parameters, job.devices(), options);
    } catch (const Interrupted&) {
      if (written.empty()) throw;
      throw Interrupted(
          fmt::format("interrupted: '{}' had been written, and nothing after that", fmt::join(written, "', '")));
    }
  });
  command.parameters.init = nullptr;
  const bool interrupted = result.stopped_by == StoppedBy::interrupt;
  if (interrupted && result.iterations == 0)
    throw Interrupted("interrupted before the first iteration: nothing was written, the input files are untouched");
  const std::string output = output_of(command, result);
  write(result.output, output);
  if (!control.png.empty()) {
    const Volume shown = region ? cut_out(result.output, region->within(*taken)) : Volume();
    PreviewOptions montage;
    montage.montage = true;
    write_png(render_preview(region ? shown : result.output, montage), control.png);
  }

  RunResult run;
  run.iterations = result.iterations;
  run.plan = result.plan;
  run.seconds = result.seconds;
  run.peak_bytes = result.peak_bytes;
  run.bus_bytes = result.bus_bytes;
  job.record(run, "denoise");
  job.results() = results_json(command, result);
  const auto voxels = static_cast<double>(grid.count());
  for (const auto& text : shortfalls(result, command.parameters, control, voxels)) spdlog::warn(text);
  job.say(fmt::format("{}: {}, {}{}{}", output, grid_summary(region ? cut_out(whole, *region) : grid),
                      what_was_done(command, result, voxels),
                      region ? fmt::format(" (with a margin of {} voxels)", roi_margin) : "", job.how(run)));
  if (!result.stages.empty()) job.say(path_table(result, command.parameters.alpha_path, voxels));
  if (interrupted) end_interrupted(job, command, result);
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
  sub->add_option("--alpha", p.alpha,
                  "pdu, spdu: weight of the data, 1/(grey value mm); smaller is smoother. Default: chosen so that what "
                  "is taken away is as "
                  "large as the noise estimated in the volume (discrepancy principle)")
      ->check(positive_number())
      ->type_name("A");
  sub->add_option("--weights", command->weights,
                  "spdu: noise variance of each voxel on the same grid, as fdk --variance-out makes it")
      ->type_name("FILE");
  sub->add_option("--iterations", p.iterations, "At most so many iterations")
      ->check(whole_number_from(1))
      ->type_name("N");
  auto* gap = sub->add_option("--gap", p.gap, "pdu, spdu: stop at this relative duality gap")
                  ->check(positive_number())
                  ->type_name("G");
  auto* schedule =
      sub->add_option(
             "--schedule", command->schedule,
             "pdu, spdu: step sizes. default: the fastest; zhu-chan: a published one; chambolle-pock: with proof; "
             "seed: a published one that starts in the wrong direction, for comparison")
          ->check(CLI::IsMember({"default", "zhu-chan", "seed", "chambolle-pock"}));
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
  add_control_options(*sub, command->control);
  sub->add_option("-o,--output", command->output, "Volume to write")->required()->type_name("FILE");
  sub->footer("Example:\n  halocline denoise -i volume.mha --method pdu -o denoised.mha");
  sub->callback([&action, command, gap, schedule] {
    command->gap_given = gap->count() > 0;
    command->schedule_given = schedule->count() > 0;
    action = [command](Job& job) { run_denoise(job, *command); };
  });
}

}  // namespace halocline
