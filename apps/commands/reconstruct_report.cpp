#include "apps/commands/reconstruct_report.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>

#include "apps/drawing/convergence_plot.hpp"
#include "apps/job/report.hpp"
#include "host/plural.hpp"

namespace halocline {
namespace {

// "gap" of penalised methods, "tolerance" of others.
std::string what_ended(StoppedBy by, bool penalised) {
  switch (by) {
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
  if (penalised)
    result.update({{"primal", record.primal}, {"dual", record.dual}, {"relative_gap", record.relative_gap}});
  return result;
}

// The predicted projections lie within so many standard deviations of those of the minimiser (RMS).
double noise_bound(const ReconstructionResult& result) {
  return std::sqrt(2 * result.history.back().gap / result.rays);
}

std::string quality(const ReconstructCommand& command, const ReconstructionResult& result) {
  if (!command.penalised())
    return fmt::format("relative residual {:.3g}", result.projections > 0 ? result.residual / result.projections : 0);
  const ReconstructionRecord& last = result.history.back();
  std::string text =
      fmt::format("objective {:.8g}, at most {:.2g} % above its minimum over [{:g}, {:.3g}]", last.primal,
                  100 * last.relative_gap, std::max(0.0, command.parameters.regulariser.minimum), result.maximum);
  if (command.weighted()) text += fmt::format(", projections within {:.2g} of the noise", noise_bound(result));
  return text;
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
  results["stopped_by"] = what_ended(result.run.stopped_by, penalised);
  results["grid"] = grid_json(work.grid);
  for (const ReconstructionRecord& record : result.history)
    results["history"].push_back(record_json(record, penalised));
  if (command.weighted()) results["chi2"] = result.residual * result.residual / result.rays;
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
  job.say(fmt::format("{}: {}, {:.4g} {} by {} ({}) of {}, {}{}", command.output, grid_summary(work.grid), passes,
                      passes == 1 ? "pass" : "passes", command.parameters.method, command.projector,
                      views_text(work.stack.size[2]), quality(command, result), job.how(result.run)));
}

}  // namespace halocline
