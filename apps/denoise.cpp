// halocline denoise
#include "algorithms/denoise.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "algorithms/registry.hpp"
#include "apps/job.hpp"
#include "apps/report.hpp"
#include "apps/subcommands.hpp"
#include "apps/validators.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

struct DenoiseCommand {
  std::string input, weights, output, schedule = "default";
  bool gap_given = false, schedule_given = false, iterations_given = false;
  DenoiseParameters parameters;
  std::string reference, tv = "isotropic";
  std::optional<double> minimum, maximum;
  bool nonnegative = false;

  bool descends() const { return parameters.method == "tvgd"; }
  bool filters() const { return is_filter(parameters.method); }
};

void take_regulariser(DenoiseCommand& command) {
  auto& regulariser = command.parameters.regulariser;
  regulariser.variation = variation_named(command.tv);
  regulariser.guided = !command.reference.empty();
  if (command.nonnegative) regulariser.minimum = 0;
  if (command.minimum) regulariser.minimum = *command.minimum;
  if (command.maximum) regulariser.maximum = *command.maximum;
}

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

void put_regulariser(nlohmann::json& results, const Regulariser& regulariser) {
  results["tv"] = variation_name(regulariser.variation);
  put(results, "minimum", regulariser.minimum);
  put(results, "maximum", regulariser.maximum);
  if (regulariser.huber_delta) results["huber_delta"] = *regulariser.huber_delta;
  if (!regulariser.guided) return;
  results["reference_eta"] = *regulariser.reference_eta;
  results["reference_strength"] = regulariser.reference_strength.value_or(1);
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
  if (command.descends()) {
    put(results, "step", result.step);
    put(results, "epsilon", result.epsilon);
    put(results, "target_fidelity", result.target_fidelity);
  } else {
    results["schedule"] = command.schedule;
    put_regulariser(results, result.regulariser);
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

std::string regulariser_text(const DenoiseCommand& command, const Regulariser& regulariser) {
  std::string text;
  if (regulariser.variation == Variation::anisotropic) text += ", anisotropic";
  if (regulariser.variation == Variation::huber)
    text += fmt::format(", Huber with delta {:g}", *regulariser.huber_delta);
  if (regulariser.boxed()) text += fmt::format(", within [{:g}, {:g}]", regulariser.minimum, regulariser.maximum);
  if (regulariser.guided)
    text += fmt::format(", guided by '{}' with eta {:.3g}", command.reference, *regulariser.reference_eta);
  return text;
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
                     regulariser_text(command, result.regulariser), command.schedule, result.iterations,
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

void run_denoise(Job& job, DenoiseCommand& command) {
  command.parameters.schedule = schedule_named(command.schedule);
  take_regulariser(command);
  check_options(command);
  const Grid grid = job.input_image("-i", command.input).grid;
  if (!command.weights.empty()) {
    const Grid weights = job.input_image("--weights", command.weights).grid;
    require_same_grid(grid, "'" + command.input + "'", weights, "--weights '" + command.weights + "'");
  }
  if (!command.reference.empty()) {
    const Grid reference = job.input_image("--reference", command.reference).grid;
    require_same_grid(grid, "'" + command.input + "'", reference, "--reference '" + command.reference + "'");
  }
  job.output_image("-o", command.output);
  const Plan plan = plan_denoise(grid, command.parameters, budgets(job.devices()));
  if (job.dry_run()) return job.print(plan.text());

  const Volume volume = job.read(command.input);
  const Volume weights = command.weights.empty() ? Volume() : job.read(command.weights);
  const Volume reference = command.reference.empty() ? Volume() : job.read(command.reference);
  DenoiseResult result = job.timed("denoise", [&] {
    return denoise(volume, command.weights.empty() ? nullptr : &weights, command.parameters, job.devices(),
                   job.run_options(), command.reference.empty() ? nullptr : &reference);
  });
  job.write(result.output, command.output);

  RunResult run;
  run.iterations = result.iterations;
  run.plan = result.plan;
  run.seconds = result.seconds;
  run.peak_bytes = result.peak_bytes;
  run.bus_bytes = result.bus_bytes;
  job.record(run, "denoise");
  job.results() = results_json(command, result);
  warn_unless_converged(command, result);
  job.say(fmt::format("{}: {}, {}{}", command.output, grid_summary(grid),
                      what_was_done(command, result, static_cast<double>(grid.count())), job.how(run)));
}

}  // namespace

namespace {

// What pdu and spdu penalise and allow beside plain total variation.
void add_regulariser_options(CLI::App& sub, DenoiseCommand& command) {
  const char* group = "Other problems than plain total variation (pdu, spdu)";
  auto& regulariser = command.parameters.regulariser;
  sub.add_option(
         "--tv", command.tv,
         "isotropic: |Du|; anisotropic: |D_x u| + |D_y u| + |D_z u|, for objects along the axes; huber: |Du|, but "
         "quadratic below --huber-delta, which keeps slopes from becoming stairs")
      ->check(CLI::IsMember({"isotropic", "anisotropic", "huber"}))
      ->group(group);
  sub.add_option("--huber-delta", regulariser.huber_delta,
                 "--tv huber: gradients below it are smoothed, grey values/mm")
      ->check(positive_number())
      ->type_name("D")
      ->group(group);
  auto* minimum = sub.add_option("--minimum", command.minimum, "No grey value of the result is below it")
                      ->check(finite_number())
                      ->type_name("A")
                      ->group(group);
  sub.add_option("--maximum", command.maximum, "No grey value of the result is above it")
      ->check(finite_number())
      ->type_name("B")
      ->group(group);
  sub.add_flag("--nonnegative", command.nonnegative, "The same as --minimum 0")->excludes(minimum)->group(group);
  sub.add_option(
         "--reference", command.reference,
         "Another volume of the object on the same grid (of another energy, time or kernel): where it has edges, "
         "the result may have them for free")
      ->type_name("FILE")
      ->group(group);
  sub.add_option(
         "--reference-eta", regulariser.reference_eta,
         "Gradients of the reference well above it are edges, grey values of the reference/mm. Default: from its "
         "noise and its largest gradient")
      ->check(positive_number())
      ->type_name("E")
      ->group(group);
  sub.add_option("--reference-strength", regulariser.reference_strength,
                 "How much of the variation across the reference's edges is free: above 0, at most 1. Default: 1")
      ->check(positive_number())
      ->type_name("G")
      ->group(group);
}

void add_filter_options(CLI::App& sub, FilterParameters& filter) {
  const char* group = "Filters to compare with";
  sub.add_option("--sigma", filter.sigma, "gaussian: standard deviation in mm. Default: the coarsest voxel spacing")
      ->check(positive_number())
      ->type_name("S")
      ->group(group);
  sub.add_option("--radius", filter.radius, "median: the window is a cube of 2R+1 voxels. Default: 1")
      ->check(whole_number_from(1, 5))
      ->type_name("R")
      ->group(group);
  sub.add_option("--patch-radius", filter.patch_radius, "nlm: voxels around two that are compared. Default: 1")
      ->check(whole_number_from(0, 5))
      ->type_name("R")
      ->group(group);
  sub.add_option("--search-radius", filter.search_radius,
                 "nlm: how far alike voxels are looked for. Default: 3, in 2D 7")
      ->check(whole_number_from(1, 20))
      ->type_name("R")
      ->group(group);
  sub.add_option(
         "--strength", filter.strength,
         fmt::format("nlm: how unlike patches may be, in standard deviations of the estimated noise. Default: {}",
                     default_nlm_strength))
      ->check(positive_number())
      ->type_name("H")
      ->group(group);
}

}  // namespace

void add_denoise(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("denoise", "Remove noise from a volume by total variation");
  auto command = std::make_shared<DenoiseCommand>();
  auto& p = command->parameters;
  sub->add_option("-i,--input", command->input, "Noisy volume")->required()->type_name("FILE");
  sub->add_option(
         "--method", p.method,
         "pdu: the exact minimum of 1/2 ||u-f||^2 + 1/alpha TV(u), with a certificate; spdu: the same, "
         "weighted with the noise "
         "variance of each voxel; tvgd: steps down the total variation. To compare with: gaussian, median, nlm "
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
  add_regulariser_options(*sub, *command);
  add_filter_options(*sub, p.filter);
  sub->add_option("-o,--output", command->output, "Volume to write")->required()->type_name("FILE");
  sub->footer("Example:\n  halocline denoise -i volume.mha --method pdu -o denoised.mha");
  sub->callback([&action, command, gap, schedule, iterations] {
    command->iterations_given = iterations->count() > 0;
    command->gap_given = gap->count() > 0;
    command->schedule_given = schedule->count() > 0;
    action = [command](Job& job) { run_denoise(job, *command); };
  });
}

}  // namespace halocline
