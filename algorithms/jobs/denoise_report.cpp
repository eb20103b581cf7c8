#include "algorithms/jobs/denoise_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "algorithms/denoise/denoise_parameters.hpp"
#include "algorithms/denoisers/gap_rule.hpp"
#include "algorithms/metrics/metrics.hpp"

namespace halocline {
namespace {

// Quantities that a method has not are left out.
void put(nlohmann::json& results, const char* name, double value) {
  if (std::isfinite(value)) results[name] = value;
}

std::string penalty_text(const Regulariser& regulariser, const std::string& reference) {
  std::string text;
  if (regulariser.variation == Variation::anisotropic) text += ", anisotropic";
  if (regulariser.variation == Variation::huber)
    text += fmt::format(", Huber with delta {:g}", *regulariser.huber_delta);
  if (regulariser.boxed()) text += fmt::format(", within [{:g}, {:g}]", regulariser.minimum, regulariser.maximum);
  if (regulariser.guided)
    text += fmt::format(", guided by '{}' with eta {:.3g}", reference, *regulariser.reference_eta);
  return text;
}

nlohmann::json penalty_json(const Regulariser& regulariser) {
  nlohmann::json result{{"tv", variation_name(regulariser.variation)}};
  if (std::isfinite(regulariser.minimum)) result["minimum"] = regulariser.minimum;
  if (std::isfinite(regulariser.maximum)) result["maximum"] = regulariser.maximum;
  if (regulariser.huber_delta) result["huber_delta"] = *regulariser.huber_delta;
  if (!regulariser.guided) return result;
  result["reference_eta"] = *regulariser.reference_eta;
  result["reference_strength"] = regulariser.reference_strength.value_or(1);
  return result;
}

}  // namespace

RunResult run_of(const DenoiseResult& result) {
  RunResult run;
  run.iterations = result.iterations;
  run.plan = result.plan;
  run.seconds = result.seconds;
  run.peak_bytes = result.peak_bytes;
  run.bus_bytes = result.bus_bytes;
  run.rank_bytes = result.rank_bytes;
  run.stopped_by = result.stopped_by;
  return run;
}

nlohmann::json denoise_results(const DenoiseSettings& denoise, const DenoiseResult& result) {
  const auto& parameters = denoise.parameters;
  nlohmann::json results{{"method", parameters.method},
                         {"iterations", result.iterations},
                         {"converged", result.converged},
                         {"chosen_by", result.alpha_choice},
                         {"fidelity", result.fidelity}};
  put(results, "truth_rmse", result.truth_rmse);
  put(results, "truth_relative", result.truth_relative);
  put(results, "truth_psnr", peak_signal_to_noise(result.truth_maximum, result.truth_rmse * result.truth_rmse));
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
    results["schedule"] = denoise.schedule;
    results["iterations_a_pass"] = result.form.stages;
    results["dual_bits"] = result.form.dual_bits;
    results.update(penalty_json(result.regulariser));
  }
  results["stopped_by"] = what_ended(result, descends(parameters));
  for (const auto& record : result.history) {
    nlohmann::json entry{{"iteration", record.iteration},
                         {"seconds", record.seconds},
                         {"total_variation", record.total_variation},
                         {"fidelity", record.fidelity}};
    put(entry, "primal", record.primal);
    put(entry, "relative_gap", record.relative_gap);
    put(entry, "truth_rmse", record.truth_rmse);
    put(entry, "truth_relative", record.truth_relative);
    put(entry, "truth_psnr", peak_signal_to_noise(result.truth_maximum, record.truth_rmse * record.truth_rmse));
    results["history"].push_back(std::move(entry));
  }
  return results;
}

std::string what_was_done(const DenoiseSettings& denoise, const std::string& reference, const DenoiseResult& result,
                          double voxels) {
  const auto& parameters = denoise.parameters;
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
  return fmt::format(
      "{} with alpha {:.6g}{} ({}){}, schedule {}; {} iterations, relative gap {:.3g}, RMS change {:.4g}",
      parameters.method, result.alpha,
      std::isfinite(result.alpha_sigma) ? fmt::format(" = {:.4g}/sigma", result.alpha_sigma) : "", result.alpha_choice,
      penalty_text(result.regulariser, reference), denoise.schedule, result.iterations, result.relative_gap,
      result.fidelity / std::sqrt(voxels));
}

std::string path_table(const DenoiseResult& result, const std::vector<double>& alphas, double voxels) {
  std::string text =
      fmt::format("  {:>12} {:>11} {:>13} {:>11}\n", "alpha", "iterations", "relative gap", "RMS change");
  for (std::size_t n = 0; n < result.stages.size(); ++n) {
    const auto& last = result.stages[n].last;
    text += fmt::format("  {:>12g} {:>11} {:>13.3g} {:>11.4g}\n", alphas[n], last.iteration, last.relative_gap,
                        last.fidelity / std::sqrt(voxels));
  }
  return text;
}

std::string what_ended(const DenoiseResult& result, bool descends) {
  if (result.stopped_by == StoppedBy::interrupt) return "interrupt";
  if (result.stopped_by == StoppedBy::time) return "time";
  if (result.stalled) return "stalled";
  if (result.stopped_by == StoppedBy::iterations) return "iterations";
  if (!descends) return "gap";
  return std::isfinite(result.target_fidelity) ? "target" : "flat";
}

std::string descent_end(const DenoiseResult& result) {
  const std::string end = what_ended(result, true);
  if (end == "stalled" || end == "flat") return "flatness";
  if (end == "iterations") return "the number of iterations";
  if (end == "time") return "the time limit";
  return end == "target" ? "the target" : "an interrupt";
}

}  // namespace halocline
