// halocline geometry circular, halocline geometry show
#include "algorithms/geometry.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <numbers>

#include "algorithms/geometry_xml.hpp"
#include "apps/io/atomic_file.hpp"
#include "apps/job.hpp"
#include "apps/subcommands.hpp"
#include "apps/validators.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

constexpr double degree = std::numbers::pi / 180;

struct CircularCommand {
  CircularOptions circular;
  std::optional<std::size_t> projections;
  std::string angles, output;
};

// One angle in degrees a line; empty lines and what follows a # are passed over.
std::vector<double> read_angles(const std::string& path) {
  std::ifstream file(path);
  std::vector<double> angles;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    const std::string where = fmt::format("--angles '{}', line {}:", path, number);
    const auto values = parse_numbers(where, {line});
    if (values.size() > 1)
      throw InputError(fmt::format("{} {} numbers, one angle in degrees is expected", where, values.size()));
    angles.insert(angles.end(), values.begin(), values.end());
  }
  if (!file.eof())
    throw InputError(
        fmt::format("--angles '{}' cannot be read; give a text file with one angle in degrees a line", path));
  if (angles.empty())
    throw InputError(fmt::format("--angles '{}' holds no angle; one angle in degrees a line is expected", path));
  return angles;
}

void run_circular(Job& job, CircularCommand& command) {
  job.input("--angles", command.angles);
  job.output("-o", command.output);
  if (!command.angles.empty()) {
    command.circular.angles = read_angles(command.angles);
    if (command.projections && *command.projections != command.circular.angles.size())
      throw InputError(fmt::format("--projections {}, but --angles '{}' holds {} angles; leave --projections out",
                                   *command.projections, command.angles, command.circular.angles.size()));
  } else if (!command.projections) {
    throw InputError("the number of views is not known; give --projections N, or --angles with a file of them");
  } else {
    command.circular.projections = *command.projections;
  }
  const Geometry geometry = circular_geometry(command.circular);
  job.results() = {{"views", geometry.views.size()}, {"parallel", geometry.parallel()}};
  const std::string what =
      fmt::format("{} views, {}", geometry.views.size(), geometry.parallel() ? "parallel beam" : "divergent beam");
  if (job.dry_run()) return job.print(fmt::format("would write {}: {}", command.output, what));
  write_file_atomically(command.output, [&](std::ostream& out) { write_geometry(geometry, out); });
  job.say(fmt::format("{}: {}", command.output, what));
}

void add_circular(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("circular", "Make the geometry of a circular scan (RTK's XML)");
  auto command = std::make_shared<CircularCommand>();
  auto& c = command->circular;
  sub->add_option("--sid", c.sid, "Source to isocentre distance, mm")
      ->check(positive_number())
      ->required()
      ->type_name("D");
  sub->add_option("--sdd", c.sdd, "Source to detector distance, mm; 0 for a parallel beam")
      ->check(not_negative())
      ->required()
      ->type_name("D");
  sub->add_option("--projections", command->projections, "Number of views, at first-angle + i * arc / N")
      ->check(whole_number_from(1))
      ->type_name("N");
  auto* arc = sub->add_option("--arc", c.arc, "Degrees that the gantry turns; negative: backwards")
                  ->check(finite_number())
                  ->type_name("A");
  auto* first = sub->add_option("--first-angle", c.first_angle, "Gantry angle of the first view, degrees")
                    ->check(finite_number())
                    ->type_name("A");
  sub->add_option("--angles", command->angles, "Text file with the gantry angles, degrees, one a line")
      ->type_name("FILE")
      ->excludes(arc)
      ->excludes(first);
  const auto offset = [&](const char* name, double& value, const char* description) {
    sub->add_option(name, value, description)->check(finite_number())->type_name("D");
  };
  offset("--proj-offset-x", c.projection_offset_x, "Detector's offset along u, mm");
  offset("--proj-offset-y", c.projection_offset_y, "Detector's offset along v, mm");
  offset("--source-offset-x", c.source_offset_x, "Source's offset along u, mm");
  offset("--source-offset-y", c.source_offset_y, "Source's offset along v, mm");
  offset("--out-of-plane", c.out_of_plane_angle, "Out-of-plane angle, degrees");
  offset("--in-plane", c.in_plane_angle, "In-plane angle, degrees");
  sub->add_option("-o,--output", command->output, "Geometry file to write (.xml)")->required()->type_name("FILE");
  sub->footer("Example:\n  halocline geometry circular --sid 1000 --sdd 1536 --projections 360 -o geometry.xml");
  sub->callback([&action, command] { action = [command](Job& job) { run_circular(job, *command); }; });
}

std::string row(const std::string& name, const std::string& value) {
  return fmt::format("{:<30}{}\n", name, value);
}

// "1000 mm", or "-3 to 5 mm" where the views differ.
std::string range_row(const Geometry& geometry, const char* name, double View::*member, const char* unit) {
  const auto [low, high] =
      std::minmax_element(geometry.views.begin(), geometry.views.end(),
                          [member](const View& a, const View& b) { return a.*member < b.*member; });
  const double from = (*low).*member, to = (*high).*member;
  return row(name,
             from == to ? fmt::format("{:.6g} {}", from, unit) : fmt::format("{:.6g} to {:.6g} {}", from, to, unit));
}

std::string coverage_rows(const Geometry& geometry, nlohmann::json& results) {
  AngularCoverage coverage;
  try {
    coverage = angular_coverage(geometry);
  } catch (const InputError& error) {
    return row("coverage", std::string("not enough to reconstruct: ") + error.what());
  }
  results["full_circle"] = coverage.full_circle;
  results["range_degrees"] = coverage.range / degree;
  results["largest_gap_degrees"] = coverage.largest_gap / degree;
  results["repeated_views"] = coverage.repeated_views;
  std::string text =
      row("coverage", geometry.parallel()    ? "parallel beam: half a circle of distinct rays, covered"
                      : coverage.full_circle ? "full circle"
                                             : fmt::format("short scan of {:.6g} degrees from {:.6g}",
                                                           coverage.range / degree, coverage.first_angle / degree));
  auto gaps = coverage.gaps;
  std::sort(gaps.begin(), gaps.end());
  text +=
      row("angle that a view stands for", fmt::format("{:.6g} to {:.6g} degrees, median {:.6g}", gaps.front() / degree,
                                                      gaps.back() / degree, gaps[gaps.size() / 2] / degree));
  text += row("largest gap between views", fmt::format("{:.6g} degrees", coverage.largest_gap / degree));
  if (coverage.repeated_views > 0)
    text += row("repeated views", fmt::format("{} (each gets its share of the angle)", coverage.repeated_views));
  if (coverage.disordered) text += row("order", "the views neither increase nor decrease round the circle (accepted)");
  return text;
}

void run_show(Job& job, const std::string& path) {
  job.input("geometry", path);
  const Geometry geometry = read_geometry(path);
  auto& results = job.results();
  results = {{"views", geometry.views.size()}, {"parallel", geometry.parallel()}};
  const auto angle = [&](std::size_t n) { return geometry.views[n].gantry_angle; };
  std::string text = row("file", path);
  text += row("views", fmt::format("{}", geometry.views.size()));
  text += row("beam", geometry.parallel() ? "parallel" : "divergent (fan or cone)");
  text += range_row(geometry, "source to isocentre", &View::sid, "mm");
  if (!geometry.parallel()) text += range_row(geometry, "source to detector", &View::sdd, "mm");
  if (!geometry.parallel())
    text += row("magnification", fmt::format("{:.6g}", geometry.views.front().sdd / geometry.views.front().sid));
  const std::size_t last = geometry.views.size() - 1;
  text += row("gantry angle", last == 0
                                  ? fmt::format("{:.6g} degrees", angle(0))
                                  : fmt::format("{:.6g}, {:.6g}, ... {:.6g} degrees", angle(0), angle(1), angle(last)));
  text += coverage_rows(geometry, results);
  text += range_row(geometry, "projection offset x", &View::projection_offset_x, "mm");
  text += range_row(geometry, "projection offset y", &View::projection_offset_y, "mm");
  text += range_row(geometry, "source offset x", &View::source_offset_x, "mm");
  text += range_row(geometry, "source offset y", &View::source_offset_y, "mm");
  text += range_row(geometry, "out-of-plane angle", &View::out_of_plane_angle, "degrees");
  text += range_row(geometry, "in-plane angle", &View::in_plane_angle, "degrees");
  text += row("detector", geometry.radius_cylindrical_detector > 0
                              ? fmt::format("cylinder of radius {:.6g} mm", geometry.radius_cylindrical_detector)
                              : "flat");
  job.print(text);
}

void add_show(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("show", "Print what a geometry file says: beam, distances, angles, coverage, offsets");
  auto path = std::make_shared<std::string>();
  sub->add_option("geometry", *path, "Geometry file (RTK's XML)")->required()->type_name("FILE");
  sub->footer("Example:\n  halocline geometry show geometry.xml");
  sub->callback([&action, path] { action = [path](Job& job) { run_show(job, *path); }; });
}

}  // namespace

void add_geometry(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("geometry", "Make or show scan geometries");
  sub->require_subcommand(1);
  add_circular(*sub, action);
  add_show(*sub, action);
  sub->footer("Example:\n  halocline geometry show geometry.xml");
}

}  // namespace halocline
