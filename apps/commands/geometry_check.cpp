// halocline geometry check
#include "algorithms/checks/geometry_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "apps/commands/geometry_commands.hpp"
#include "apps/job/job.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

void run_check(Job& job, ExaminedGeometry& command) {
  job.input("geometry", command.geometry);
  std::vector<GeometryFinding> findings;
  std::size_t views = 0;
  if (const auto stack = command.take_projections(job)) {
    views = stack->size[2];
    const auto& d = stack->direction;
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
  const std::optional<Grid> volume = command.volume();
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
  auto command = std::make_shared<ExaminedGeometry>();
  command->add_to(sub->settings);
  sub->footer =
      "Example:\n  halocline geometry check geometry.xml -i projections.mha --size 128,128,128 --spacing 1.5,1.5,1.5";
  sub->run = [command](Job& job) { run_check(job, *command); };
  return sub;
}

}  // namespace halocline
