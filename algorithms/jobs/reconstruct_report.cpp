#include "algorithms/jobs/reconstruct_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "algorithms/metrics/metrics.hpp"
#include "host/system/log.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

// "gap" of penalised methods, "tolerance" of others.
std::string what_ended(const ReconstructionResult& result, bool penalised) {
  switch (result.run.stopped_by) {
    case StoppedBy::interrupt:
      return "interrupt";
    case StoppedBy::time:
      return "time";
    case StoppedBy::method:
      return penalised ? "gap" : "tolerance";
    case StoppedBy::iterations:
      break;
  }
  return "iterations";
}

double relative_residual(const ReconstructionResult& result) {
  return result.projections > 0 ? result.residual / result.projections : 0;
}

nlohmann::json record_json(const ReconstructionRecord& record, double truth_maximum, bool penalised) {
  nlohmann::json result{{"passes", record.passes}, {"residual", record.residual}, {"seconds", record.seconds}};
  const auto put = [&](const char* name, double value) {
    if (std::isfinite(value)) result[name] = value;
  };
  put("normal_residual", record.normal_residual);
  put("truth_rmse", record.truth_rmse);
  put("truth_relative", record.truth_relative);
  put("truth_psnr", peak_signal_to_noise(truth_maximum, record.truth_rmse * record.truth_rmse));
  if (penalised)
    result.update({{"primal", record.primal}, {"dual", record.dual}, {"relative_gap", record.relative_gap}});
  return result;
}

// The predicted projections lie within so many standard deviations of those of the minimiser (RMS).
double noise_bound(const ReconstructionResult& result) {
  return std::sqrt(2 * result.history.back().gap / result.rays);
}

void warn_of_divergence(const ReconstructSettings& settings, std::size_t views, const ReconstructionResult& result) {
  library_log()->warn(
      "{} diverged with {} subsets of {}: it went back to the best image that it had seen, and on without momentum. "
      "Take fewer `subsets`, or `method = spdhg`, which converges with any number",
      settings.parameters.method, result.subsets, views_text(views));
}

// A model that does not suit the data: the certificate holds for images within the bounds alone.
void warn_of_misfit(const ReconstructSettings& settings, const ReconstructionResult& result, bool weighted) {
  constexpr double too_much = 2;  // chi2
  constexpr double apart = 0.1;   // relative residual
  constexpr const char* causes =
      "a bound (`minimum`, `maximum`), `lambda`, the weights or the geometry do not suit them, and the certificate "
      "holds for images within the bounds alone";
  const double chi2 = result.residual * result.residual / result.rays;
  const double relative = relative_residual(result);
  if (weighted && chi2 > too_much)
    library_log()->warn("the projections are met to {:.3g} times their noise only (chi2 {:.3g}): {}", std::sqrt(chi2),
                        chi2, causes);
  else if (std::isfinite(settings.parameters.regulariser.maximum) && relative > apart)
    library_log()->warn("the projections are met to {:.2g} % only: {}", 100 * relative, causes);
}

}  // namespace

double passes_of(const ReconstructionResult& result) {
  return static_cast<double>(result.run.iterations) / result.subsets;
}

nlohmann::json reconstruct_results(const ReconstructSettings& settings, const ReconstructionResult& result,
                                   bool weighted) {
  const bool penalised = settings.penalised();
  nlohmann::json results{{"method", settings.parameters.method},
                         {"iterations", passes_of(result)},
                         {"subsets", result.subsets},
                         {"relative_residual", relative_residual(result)},
                         {"stopped_by", what_ended(result, penalised)}};
  for (const ReconstructionRecord& record : result.history)
    results["history"].push_back(record_json(record, result.truth_maximum, penalised));
  if (!result.history.empty() && !std::isnan(result.history.back().normal_residual))
    results["normal_residual"] = result.history.back().normal_residual;
  if (!result.history.empty())
    for (const char* name : {"truth_rmse", "truth_relative", "truth_psnr"})
      if (results["history"].back().contains(name)) results[name] = results["history"].back()[name];
  if (result.diverged) results["diverged"] = true;
  if (weighted) results["chi2"] = result.residual * result.residual / result.rays;
  if (penalised && !result.history.empty()) {
    const ReconstructionRecord& last = result.history.back();
    results.update({{"primal", last.primal},
                    {"dual", last.dual},
                    {"relative_gap", last.relative_gap},
                    {"projections_within", noise_bound(result)},
                    {"lambda", settings.parameters.lambda},
                    {"maximum", result.maximum}});
  }
  return results;
}

void warn_of_result(const ReconstructSettings& settings, const ReconstructionResult& result, bool weighted,
                    std::size_t views) {
  if (result.diverged) warn_of_divergence(settings, views, result);
  if (settings.penalised()) warn_of_misfit(settings, result, weighted);
}

std::string quality(const ReconstructSettings& settings, const ReconstructionResult& result, bool weighted) {
  if (!settings.penalised()) {
    const double normal = result.history.empty() ? std::nan("") : result.history.back().normal_residual;
    return fmt::format("relative residual {:.3g}", relative_residual(result)) +
           (std::isnan(normal) ? std::string() : fmt::format(", normal residual {:.2g}", normal));
  }
  const ReconstructionRecord& last = result.history.back();
  const double lowest =
      std::isfinite(settings.parameters.regulariser.minimum) ? settings.parameters.regulariser.minimum : 0;
  std::string text = fmt::format("objective {:.8g}, ", last.primal);
  text += last.dual > 0 ? fmt::format("at most {:.2g} % above its minimum", 100 * last.gap / last.dual)
                        : fmt::format("without a bound yet on its minimum");
  text += fmt::format(" over [{:g}, {:.3g}]", lowest, result.maximum);
  if (weighted) text += fmt::format(", projections within {:.2g} of the noise", noise_bound(result));
  return text;
}

}  // namespace halocline
