// halocline geometry find-axis
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "algorithms/find_axis.hpp"
#include "algorithms/geometry_check.hpp"
#include "algorithms/geometry_xml.hpp"
#include "apps/geometry_commands.hpp"
#include "apps/geometry_file.hpp"
#include "apps/io/atomic_file.hpp"
#include "apps/job.hpp"
#include "apps/validators.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

struct FindAxisCommand {
  std::string input, geometry, output, method = "both";
  std::optional<double> range;
};

class Report {
 public:
  Report(Job& job, const Grid& stack, const Geometry& geometry)
      : job_(job), stack_(stack), from_(alignment(geometry).axis_u.mean) {}
  double column(double shift) const { return (from_ + shift - stack_.origin[0]) / stack_.spacing[0]; }
  void add(const char* method, const AxisEstimate& axis) {
    job_.results()[method] = {{"column", column(axis.shift)},
                              {"u_mm", from_ + axis.shift},
                              {"shift_mm", axis.shift},
                              {"contrast", axis.contrast}};
    job_.print(fmt::format("{:<13}axis at column {:.2f} (u = {:.6g} mm, {:+.6g} mm from the geometry's)", method,
                           column(axis.shift), from_ + axis.shift, axis.shift));
    if (axis.at_end)
      spdlog::warn("by {}, the best axis is at the end of the range that was tried; give a larger --range", method);
    if (axis.contrast < 1.05)
      spdlog::warn(
          "by {}, no axis is much better than another (the worst scores {:.3g} times the best); the result is "
          "uncertain",
          method, axis.contrast);
  }

 private:
  Job& job_;
  Grid stack_;
  double from_;
};

// Which of two estimates is to be trusted. Sharpness goes by a reconstruction, which views that see only one side of
// the object, or the range, may lead astray; correlation by the data alone.
bool takes_second(const AxisEstimate& correlated, const AxisEstimate& sharpest, double pixel) {
  constexpr double certain = 1.05;  // contrast
  const double apart = std::abs(sharpest.shift - correlated.shift);
  if (!sharpest.at_end && (apart <= pixel || correlated.contrast < certain)) return true;
  spdlog::warn("the two differ by {:.3g} pixels; the axis is that by correlation, so look at a reconstruction with it",
               apart / pixel);
  return false;
}

void run_find_axis(Job& job, const FindAxisCommand& command) {
  const Grid stack = job.input_image("-i", command.input).grid;
  job.input("--geometry", command.geometry);
  job.output("-o", command.output);
  const Geometry geometry = load_geometry(command.geometry, {}, DetectorPixels::of(stack)).geometry;
  check_projections(stack, "'" + command.input + "'", geometry, "'" + command.geometry + "'");
  const double pixel = stack.spacing[0];
  AxisSearch search;
  search.range = command.range.value_or(0.05 * static_cast<double>(stack.size[0])) * pixel;
  Report report(job, stack, geometry);
  if (job.dry_run())
    return job.print(fmt::format("would look for the axis between columns {:.1f} and {:.1f}",
                                 report.column(-search.range), report.column(search.range)));

  const Volume projections = job.read(command.input);
  AxisEstimate best;
  bool found = false;
  if (command.method != "sharpness") {
    try {
      best = job.timed("correlation", [&] { return axis_by_correlation(projections, geometry, search); });
      report.add("correlation", best);
      found = true;
    } catch (const InputError& error) {
      if (command.method == "correlation") throw;
      spdlog::warn("{}", error.what());
    }
  }
  if (command.method != "correlation") {
    if (found && !best.at_end) search = {best.shift, std::min(search.range, 6 * pixel)};
    try {
      const AxisEstimate sharpest =
          job.timed("sharpness", [&] { return axis_by_sharpness(projections, geometry, search, job.devices()); });
      report.add("sharpness", sharpest);
      if (!found || takes_second(best, sharpest, pixel)) best = sharpest;
    } catch (const InputError& error) {  // a shifted axis may need a longer arc than there is
      if (!found) throw;
      spdlog::warn("{}; the axis is that by correlation", error.what());
    }
  }
  job.results()["column"] = report.column(best.shift);
  if (command.output.empty()) return;
  const Geometry corrected = with_axis_shifted(geometry, best.shift);
  write_file_atomically(command.output, [&](std::ostream& out) { write_geometry(corrected, out); });
  job.say(fmt::format("{}: the geometry with its axis at column {:.2f}", command.output, report.column(best.shift)));
}

}  // namespace

void add_geometry_find_axis(CLI::App& app, Action& action) {
  auto* sub =
      app.add_subcommand("find-axis", "Find where the rotation axis falls on the detector, from the projections");
  auto command = std::make_shared<FindAxisCommand>();
  sub->add_option("-i,--input", command->input, "Projections (u, v, view): line integrals")
      ->required()
      ->type_name("FILE");
  sub->add_option("-g,--geometry", command->geometry, geometry_file_help)->required()->type_name("FILE");
  sub->add_option("--method", command->method,
                  "correlation: opposite rays agree best; sharpness: short reconstructions are sharpest; both: the "
                  "second about where the first was found; the first counts where they differ by more than a pixel")
      ->check(CLI::IsMember({"both", "correlation", "sharpness"}));
  sub->add_option("--range", command->range,
                  "Pixels on each side of the geometry's axis that are tried. Default: 5 % of the columns")
      ->check(positive_number())
      ->type_name("N");
  sub->add_option("-o,--output", command->output, "Geometry to write, with the axis that was found (RTK's XML)")
      ->type_name("FILE");
  sub->footer("Example:\n  halocline geometry find-axis -i integrals.mha --geometry geometry.xml -o corrected.xml");
  sub->callback([&action, command] { action = [command](Job& job) { run_find_axis(job, *command); }; });
}

}  // namespace halocline
