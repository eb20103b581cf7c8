// halocline geometry check
#include "algorithms/checks/geometry_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "apps/commands/geometry_commands.hpp"
#include "apps/job/job.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/grid_options.hpp"
#include "apps/options/projection_options.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

struct CheckCommand {
  std::string geometry, projections;
  DetectorPixels detector;
  GridOptions grid;
};

void run_check(Job& job, CheckCommand& command) {
  job.input("geometry", command.geometry);
  std::vector<GeometryFinding> findings;
  std::size_t views = 0;
  if (!command.projections.empty()) {
    const Grid stack = placed_projections(command.detector, job.input_image("-i", command.projections),
                                          "'" + command.projections + "'", command.geometry);
    views = stack.size[2];
    command.detector = command.detector.or_else(DetectorPixels::of(stack));
    const auto& d = stack.direction;
    if (std::max(std::abs(d[1]), std::abs(d[3])) > 1e-4)  // -1 on the diagonal only counts the other way
      findings.push_back(
          {true, fmt::format("'{}' has a direction that turns or mixes the detector's axes, and filtering "
                             "needs rows along u; store its images so and set the direction to 1 0 0 0 "
                             "1 0 0 0 1, or give the angle as the geometry's in-plane angle",
                             command.projections)});
  }
  const ScanFile scan = load_geometry(command.geometry, {}, command.detector);
  if (views != 0 && views != scan.geometry.views.size())
    findings.push_back({true, fmt::format("'{}' holds {}, but the geometry describes {}", command.projections,
                                          views_text(views), scan.geometry.views.size())});
  std::optional<Grid> volume;
  if (command.grid.size || !command.grid.like.empty()) volume = make_grid(command.grid);
  const auto more = geometry_findings(scan.geometry, scan.detector, volume, scan.from_top);
  findings.insert(findings.end(), more.begin(), more.end());

  std::size_t impossible = 0;
  std::string which;
  auto& results = job.results();
  results["findings"] = nlohmann::json::array();
  for (const GeometryFinding& finding : findings) {
    impossible += finding.impossible;
    if (finding.impossible) which += (which.empty() ? "" : "; ") + finding.text;
    results["findings"].push_back({{"impossible", finding.impossible}, {"text", finding.text}});
    job.print(fmt::format("{}: {}", finding.impossible ? "impossible" : "warning", finding.text));
  }
  if (!scan.detector.size || !scan.detector.spacing)
    job.say("the detector was not looked at; give -i with the projections, or --detector and --pixel");
  else if (!volume)
    job.say("no volume was looked at; give --size and --spacing, or --like");
  if (impossible > 0) {
    job.keep_report();
    throw InputError(fmt::format("{}: {} of {} findings make a right reconstruction impossible: {}", command.geometry,
                                 impossible, findings.size(), which));
  }
  job.say(findings.empty()
              ? fmt::format("{}: nothing was found to be wrong", command.geometry)
              : fmt::format("{}: {} warning{}", command.geometry, findings.size(), findings.size() == 1 ? "" : "s"));
}

}  // namespace

std::unique_ptr<Command> geometry_check_command() {
  auto sub = std::make_unique<Command>(
      "check", "Look for set-ups that are inconsistent, mirrored or impossible; exit code 2 if one is impossible");
  Settings& settings = sub->settings;
  auto command = std::make_shared<CheckCommand>();
  settings.add("geometry", command->geometry, geometry_file_help).positional().required().file(FileKind::geometry);
  settings.add("input", command->projections, "Projections (u, v, view) whose header says the detector")
      .named("-i,--input")
      .unit("FILE");
  add_detector_options(settings, command->detector);
  add_grid_options(settings, command->grid);
  sub->footer =
      "Example:\n  halocline geometry check geometry.xml -i projections.mha --size 128,128,128 --spacing 1.5,1.5,1.5";
  sub->run = [command](Job& job) { run_check(job, *command); };
  return sub;
}

}  // namespace halocline
