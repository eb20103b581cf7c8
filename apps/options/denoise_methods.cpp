#include "apps/options/denoise_methods.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "algorithms/denoise/denoise_parameters.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "apps/job/validators.hpp"
#include "apps/options/denoise_control.hpp"
#include "apps/options/family_options.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// No dual, no gap: nothing of such quantities in the report.
void put(nlohmann::json& results, const char* name, double value) {
  if (std::isfinite(value)) results[name] = value;
}

}  // namespace

void add_method_options(CLI::App& app, DenoiseParameters& parameters, MethodOptions& options) {
  options.iterations = app.add_option("--iterations", parameters.iterations,
                                      "At most so many iterations; with --alpha-path, for each alpha")
                           ->check(whole_number_from(1, most_iterations))
                           ->type_name("N");
  options.gap = app.add_option("--gap", parameters.gap,
                               "pdu, spdu, pdu4d: stop at this relative duality gap, below 1; 0: "
                               "make all of --iterations, the fastest, for the gap is then evaluated at the end alone")
                    ->check(not_negative())
                    ->type_name("G");
  options.schedule_option =
      app.add_option("--schedule", options.schedule,
                     "pdu, spdu, pdu4d: step sizes. default: the fastest; zhu-chan: a published one; "
                     "chambolle-pock: with proof; "
                     "seed: a published one that starts in the wrong direction, for comparison")
          ->check(CLI::IsMember({"default", "zhu-chan", "seed", "chambolle-pock"}));
  app.add_option(
         "--stages", parameters.stages,
         "pdu, spdu, with the schedules default or zhu-chan: iterations in one pass over the device's memory, 1 to 4; "
         "0: two kernels in place, which "
         "need the least memory. The result has the same bits. Default: what was measured to be fastest and fits")
      ->check(whole_number_from(0, 4))
      ->type_name("N");
  app.add_option("--duals", options.duals,
                 "pdu, spdu: how dual variables are stored: float32; snorm16, good to a gap of 1e-5 (1e-3 where alpha "
                 "is forty times smaller than the noise asks for); snorm8, for previews, to 1e-3. Made for GPUs: on "
                 "CPUs float32 is many times faster")
      ->default_str("float32")
      ->check(CLI::IsMember(dual_names()));
  app.add_option(
         "--weight-bits", parameters.weight_bits,
         "spdu: how weights are stored on the device: 32, float; 16, half, changes them by at most 0.05 % "
         "between 6e-5 and 65504 times their mean. Gap and certificate are of the problem with the weights as stored; "
         "--report has the largest change")
      ->check(CLI::IsMember({"32", "16"}))
      ->type_name("BITS");
  app.add_option("--step", parameters.step,
                 "tvgd: RMS change of a voxel in one iteration, grey values. Default: a tenth of the estimated noise")
      ->check(positive_number())
      ->type_name("S");
  app.add_option(
         "--target-fidelity", parameters.target_fidelity,
         "||u-f||_2 (grey value times the root of the number of voxels). tvgd: stop there; pdu, spdu, pdu4d: choose "
         "alpha so that it is "
         "reached. Default for tvgd without --step: the estimated noise")
      ->check(positive_number())
      ->type_name("F");
  app.add_option("--adaptive-delta", parameters.adaptive_delta,
                 "tvgd: differences between neighbours well above it are edges and stay (adaptive-weighted total "
                 "variation); noise has to lie below, or it stays, too. Grey values/mm. Default: all are smoothed")
      ->check(positive_number())
      ->type_name("D");
}

bool MethodOptions::given(const std::string& option) const {
  const auto* found = option == "--gap" ? gap : option == "--schedule" ? schedule_option : iterations;
  return found != nullptr && found->count() > 0;
}

void take_method_options(const MethodOptions& options, DenoiseParameters& parameters) {
  parameters.schedule = schedule_named(options.schedule);
  if (!options.duals.empty()) parameters.dual_bits = dual_bits_named(options.duals);
}

void check_method_options(const MethodOptions& options, const DenoiseParameters& parameters) {
  if (descends(parameters) && (options.given("--gap") || options.given("--schedule")))
    throw InputError(
        fmt::format("{} is for --method pdu, spdu and pdu4d; tvgd takes --step, --iterations and --target-fidelity",
                    options.given("--gap") ? "--gap" : "--schedule"));
}

RunResult run_of(const DenoiseResult& result) {
  RunResult run;
  run.iterations = result.iterations;
  run.plan = result.plan;
  run.seconds = result.seconds;
  run.peak_bytes = result.peak_bytes;
  run.bus_bytes = result.bus_bytes;
  run.stopped_by = result.stopped_by;
  return run;
}

nlohmann::json denoise_results(const DenoiseParameters& parameters, const MethodOptions& options,
                               const DenoiseResult& result) {
  nlohmann::json results{{"method", parameters.method},
                         {"iterations", result.iterations},
                         {"converged", result.converged},
                         {"chosen_by", result.alpha_choice},
                         {"fidelity", result.fidelity}};
  put(results, "noise_sigma", result.noise_sigma);
  if (!result.warnings.empty()) results["warnings"] = result.warnings;
  if (is_filter(parameters.method)) {  // nothing was chosen, and there is nothing to converge to
    results.erase("converged");
    results.erase("chosen_by");
    return results;
  }
  put(results, "alpha", result.alpha);
  put(results, "alpha_sigma", result.alpha_sigma);
  put(results, "lambda", result.lambda);
  put(results, "gap", result.gap);
  put(results, "relative_gap", result.relative_gap);
  put(results, "primal", result.primal);
  put(results, "dual", result.dual);
  if (parameters.target_fidelity) results["target_fidelity"] = *parameters.target_fidelity;
  if (parameters.time.weight) results["time_weight"] = *parameters.time.weight;
  if (descends(parameters)) {
    put(results, "step", result.step);
    put(results, "epsilon", result.epsilon);
    put(results, "target_fidelity", result.target_fidelity);
    if (parameters.adaptive_delta) results["adaptive_delta"] = *parameters.adaptive_delta;
    results["statistical"] = parameters.statistical;
  } else {
    results["rule_met"] = result.rule_met;
    results["schedule"] = options.schedule;
    results["iterations_a_pass"] = result.form.stages;
    results["dual_bits"] = result.form.dual_bits;
    if (parameters.method == "spdu") {
      results["weight_bits"] = parameters.weight_bits;
      results["weight_change"] = result.weight_change;
    }
    results.update(regulariser_json(result.regulariser));
  }
  results["stopped_by"] = what_ended(result, descends(parameters));
  for (const auto& record : result.history) {
    nlohmann::json entry{
        {"iteration", record.iteration}, {"total_variation", record.total_variation}, {"fidelity", record.fidelity}};
    put(entry, "primal", record.primal);
    put(entry, "relative_gap", record.relative_gap);
    results["history"].push_back(std::move(entry));
  }
  return results;
}

std::string what_was_done(const DenoiseParameters& parameters, const MethodOptions& options,
                          const std::string& reference, const DenoiseResult& result, double voxels) {
  if (is_filter(parameters.method))
    return fmt::format(
        "{}; RMS change {:.4g}{}", parameters.method, result.fidelity / std::sqrt(voxels),
        std::isfinite(result.noise_sigma) ? fmt::format(", estimated noise {:.4g}", result.noise_sigma) : "");
  if (descends(parameters)) {
    const auto& delta = parameters.adaptive_delta;
    return fmt::format("tvgd with steps of {:.4g}{}{}, target: {}; ended by {} after {} iterations, RMS change {:.4g}",
                       result.step, parameters.statistical ? ", larger where there is more noise" : "",
                       delta ? fmt::format(", adaptive with delta {:g}", *delta) : "", result.alpha_choice,
                       descent_end(result), result.iterations, result.fidelity / std::sqrt(voxels));
  }
  const int bits = parameters.weight_bits;
  const std::string weights =
      bits == 32
          ? ""
          : fmt::format(
                ", weights of {} bits (changed by at most {:.2g} %: the certificate is of the problem with these)",
                bits, 100 * result.weight_change);
  return fmt::format(
      "{} with alpha {:.6g}{} ({}){}{}, schedule {}; {} iterations, relative gap {:.3g}, RMS change {:.4g}",
      parameters.method, result.alpha,
      std::isfinite(result.alpha_sigma) ? fmt::format(" = {:.4g}/sigma", result.alpha_sigma) : "", result.alpha_choice,
      regulariser_text(result.regulariser, reference), weights, options.schedule, result.iterations,
      result.relative_gap, result.fidelity / std::sqrt(voxels));
}

}  // namespace halocline
