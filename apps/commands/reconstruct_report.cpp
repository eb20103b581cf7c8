#include "apps/commands/reconstruct_report.hpp"

#include <fmt/format.h>

#include "algorithms/jobs/reconstruct_report.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/job/report.hpp"
#include "apps/report/curve_svg.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

Curve convergence_of(const ReconstructCommand& command, const ReconstructionResult& result) {
  Curve curve{"", "passes", command.penalised() ? "relative gap" : "relative residual", {}, {}, false, true};
  for (const ReconstructionRecord& record : result.history) {
    curve.x.push_back(record.passes);
    curve.y.push_back(command.penalised() ? record.relative_gap : record.residual / result.projections);
  }
  return curve;
}

}  // namespace

void report_reconstruction(Job& job, const ReconstructCommand& command, const ReconstructWork& work,
                           const ReconstructionResult& result) {
  job.record(result.run, "reconstruct");
  const bool weighted = command.weighted();
  const Grid grid = cut_out(work.grid, work.wanted);
  job.results().update(reconstruct_results(command, result, weighted));
  job.results()["grid"] = grid_json(grid);
  warn_of_result(command, result, weighted, work.stack.size[2]);
  if (!command.plot.empty())
    write_file_atomically(command.plot,
                          [&](std::ostream& out) { out << curve_svg_file(convergence_of(command, result)); });
  const double passes = passes_of(result);
  job.say(fmt::format("{}: {}, {:.4g} {} by {} ({}) of {}, {}{}", command.output, grid_summary(grid), passes,
                      passes == 1 ? "pass" : "passes", command.parameters.method,
                      projector_name(*command.parameters.projector), views_text(work.stack.size[2]),
                      quality(command, result, weighted), job.how(result.run)));
}

}  // namespace halocline
