#include "apps/commands/reconstruct_report.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>

#include "apps/drawing/convergence_plot.hpp"
#include "apps/job/report.hpp"
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

nlohmann::json record_json(const ReconstructionRecord& record, bool penalised) {
  nlohmann::json result{{"passes", record.passes}, {"residual", record.residual}};
  if (!std::isnan(record.normal_residual)) result["normal_residual"] = record.normal_residual;
  if (penalised)
    result.update({{"primal", record.primal}, {"dual", record.dual}, {"relative_gap", record.relative_gap}});
  return result;
}

// The predicted projections lie within so many standard deviations of those of the minimiser (RMS).
double noise_bound(const ReconstructionResult& result) {
  return std::sqrt(2 * result.history.back().gap / result.rays);
}

std::string quality(const ReconstructCommand& command, const ReconstructionResult& result) {
  if (!command.penalised()) {
    const double normal = result.history.empty() ? std::nan("") : result.history.back().normal_residual;
    return fmt::format("relative residual {:.3g}", result.projections > 0 ? result.residual / result.projections : 0) +
           (std::isnan(normal) ? std::string() : fmt::format(", normal residual {:.2g}", normal));
  }
  const ReconstructionRecord& last = result.history.back();
  const double lowest =
      std::isfinite(command.parameters.regulariser.minimum) ? command.parameters.regulariser.minimum : 0;
  std::string text = fmt::format("objective {:.8g}, ", last.primal);
  text += last.dual > 0 ? fmt::format("at most {:.2g} % above its minimum", 100 * last.gap / last.dual)
                        : fmt::format("without a bound yet on its minimum");
  text += fmt::format(" over [{:g}, {:.3g}]", lowest, result.maximum);
  if (command.weighted()) text += fmt::format(", projections within {:.2g} of the noise", noise_bound(result));
  return text;
}

void warn_of_divergence(const ReconstructCommand& command, const ReconstructWork& work,
                        const ReconstructionResult& result) {
  spdlog::warn(
      "{} diverged with {} subsets of {}: it went back to the best image that it had seen, and on without momentum. "
      "Take fewer --subsets, or --method spdhg, which converges with any number",
      command.parameters.method, result.subsets, views_text(work.stack.size[2]));
}

// A model that does not suit the data: the certificate holds for images within the bounds alone.
void warn_of_misfit(const ReconstructCommand& command, const ReconstructionResult& result) {
  constexpr double too_much = 2;  // chi2
  constexpr double apart = 0.1;   // relative residual
  constexpr const char* causes =
      "a bound (--minimum, --maximum), --lambda, the weights or the geometry do not suit them, and the certificate "
      "holds for images within the bounds alone";
  const double chi2 = result.residual * result.residual / result.rays;
  const double relative = result.projections > 0 ? result.residual / result.projections : 0;
  if (command.weighted() && chi2 > too_much)
    spdlog::warn("the projections are met to {:.3g} times their noise only (chi2 {:.3g}): {}", std::sqrt(chi2), chi2,
                 causes);
  else if (std::isfinite(command.parameters.regulariser.maximum) && relative > apart)
    spdlog::warn("the projections are met to {:.2g} % only: {}", 100 * relative, causes);
}

GreyImage plot(const ReconstructCommand& command, const ReconstructionResult& result) {
  std::vector<PlotPoint> points;
  for (const ReconstructionRecord& record : result.history)
    points.push_back({record.passes, command.penalised() ? record.relative_gap : record.residual / result.projections});
  return convergence_plot(points, "PASSES", command.penalised() ? "RELATIVE GAP" : "RELATIVE RESIDUAL");
}

}  // namespace

double passes_of(const ReconstructionResult& result) {
  return static_cast<double>(result.run.iterations) / result.subsets;
}

void report_reconstruction(Job& job, const ReconstructCommand& command, const ReconstructWork& work,
                           const ReconstructionResult& result) {
  job.record(result.run, "reconstruct");
  auto& results = job.results();
  const bool penalised = command.penalised();
  const double passes = passes_of(result);
  results["method"] = command.parameters.method;
  results["iterations"] = passes;
  results["subsets"] = result.subsets;
  results["relative_residual"] = result.projections > 0 ? result.residual / result.projections : 0;
  results["stopped_by"] = what_ended(result, penalised);
  const Grid grid = cut_out(work.grid, work.wanted);
  results["grid"] = grid_json(grid);
  for (const ReconstructionRecord& record : result.history)
    results["history"].push_back(record_json(record, penalised));
  if (!result.history.empty() && !std::isnan(result.history.back().normal_residual))
    results["normal_residual"] = result.history.back().normal_residual;
  if (result.diverged) warn_of_divergence(command, work, result);
  if (command.weighted()) results["chi2"] = result.residual * result.residual / result.rays;
  if (penalised) warn_of_misfit(command, result);
  if (penalised && !result.history.empty()) {
    const ReconstructionRecord& last = result.history.back();
    results.update({{"primal", last.primal},
                    {"dual", last.dual},
                    {"relative_gap", last.relative_gap},
                    {"projections_within", noise_bound(result)},
                    {"lambda", command.parameters.lambda},
                    {"maximum", result.maximum}});
  }
  if (!command.plot.empty()) write_png(plot(command, result), command.plot);
  job.say(fmt::format("{}: {}, {:.4g} {} by {} ({}) of {}, {}{}", command.output, grid_summary(grid), passes,
                      passes == 1 ? "pass" : "passes", command.parameters.method,
                      projector_name(*command.parameters.projector), views_text(work.stack.size[2]),
                      quality(command, result), job.how(result.run)));
}

}  // namespace halocline
