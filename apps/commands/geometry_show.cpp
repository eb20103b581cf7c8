// halocline geometry show
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>

#include "algorithms/checks/geometry_check.hpp"
#include "algorithms/geometry/detector_alignment.hpp"
#include "algorithms/geometry/field_of_view.hpp"
#include "algorithms/support/angles.hpp"
#include "apps/commands/geometry_commands.hpp"
#include "apps/drawing/geometry_drawing.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/job/job.hpp"
#include "apps/options/file_names.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

struct ShowCommand : ExaminedGeometry {
  std::string svg;
  bool views = false;
};

std::string row(const std::string& name, const std::string& value) {
  return fmt::format("{:<30}{}\n", name, value);
}

// "1000 mm", or "-3 to 5 mm" where the views differ.
std::string range_row(const Geometry& geometry, const char* name, double View::*member, const char* unit) {
  const auto [low, high] =
      std::minmax_element(geometry.views.begin(), geometry.views.end(),
                          [member](const View& a, const View& b) { return a.*member < b.*member; });
  const double from = (*low).*member + 0.0, to = (*high).*member + 0.0;  // -0 becomes 0
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
  if (geometry.views.size() == 1) return row("coverage", "one view, which no volume can be reconstructed from");
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

// "1.5 mm", or "1.5 mm, up to 0.2 mm off it" where the views differ.
std::string mean_row(const char* name, const Alignment::Value& value, const char* unit) {
  const double mean = std::abs(value.mean) < 1e-12 ? 0 : value.mean;
  return row(name, value.spread <= 1e-9 * (1 + std::abs(mean))
                       ? fmt::format("{:.6g} {}", mean, unit)
                       : fmt::format("{:.6g} {} in the mean, up to {:.3g} off it", mean, unit, value.spread));
}

// backwards: along u and v, whether the file counts its pixels from the greatest.
std::string alignment_rows(const Geometry& geometry, const DetectorPixels& detector,
                           const std::array<bool, 2>& backwards, nlohmann::json& results) {
  const Alignment a = alignment(geometry);
  std::string text = mean_row("isocentre on the detector, u", a.axis_u, "mm");
  text += mean_row("isocentre on the detector, v", a.axis_v, "mm");
  results["isocentre_on_detector_mm"] = {a.axis_u.mean, a.axis_v.mean};
  results["out_of_plane_degrees"] = a.out_of_plane.mean;
  results["in_plane_degrees"] = a.in_plane.mean;
  if (detector.size && detector.spacing) {
    const auto first = detector.first(), centre = detector.centre();
    const std::array<double, 2> isocentre{a.axis_u.mean, a.axis_v.mean};
    std::array<double, 2> pixel, from_centre;
    for (int axis = 0; axis < 2; ++axis) {
      pixel[axis] = (isocentre[axis] - first[axis]) / (*detector.spacing)[axis];
      from_centre[axis] = (isocentre[axis] - centre[axis]) / (*detector.spacing)[axis];
      if (backwards[axis]) {
        pixel[axis] = static_cast<double>((*detector.size)[axis]) - 1 - pixel[axis];
        from_centre[axis] = -from_centre[axis];
      }
      if (std::abs(from_centre[axis]) < 0.005) from_centre[axis] = 0;  // not "-0.00"
    }
    text += row("in pixels", fmt::format("column {:.2f}, row {:.2f}; {:+.2f}, {:+.2f} from the detector's centre",
                                         pixel[0], pixel[1], from_centre[0], from_centre[1]));
    results["isocentre_pixel"] = pixel;
  }
  text += mean_row("tilt along the beam", a.out_of_plane, "degrees (out of plane)");
  text += mean_row("tilt in the detector", a.in_plane, "degrees (in plane)");
  return text;
}

// The sense of the rotation, and the order of the stored images. Above is +y, where the rotation axis points.
std::string sense_rows(const Geometry& geometry, const std::array<bool, 2>& backwards, nlohmann::json& results) {
  std::size_t forward = 0, backward = 0;
  for (std::size_t n = 1; n < geometry.views.size(); ++n) {
    const double step = std::remainder(geometry.views[n].gantry_angle - geometry.views[n - 1].gantry_angle, 360);
    forward += step > 0;
    backward += step < 0;
  }
  std::string text;
  const bool both = std::min(forward, backward) > std::max(forward, backward) / 10;
  if (!both && forward != backward) {
    const std::array<const char*, 2> names{"anticlockwise", "clockwise"};
    const std::size_t source = forward > backward ? 0 : 1;
    text = row("sense, seen from above (+y)",
               fmt::format("the source turns {}, a sample on a turntable {}", names[source], names[1 - source]));
    results["source_turns"] = names[source];
  }
  const double in_plane = std::abs(std::remainder(geometry.views.front().in_plane_angle, 360));
  if (std::abs(in_plane - 90) < 45) return text;
  const bool top = (in_plane > 90) != backwards[1], right = (in_plane > 90) != backwards[0];
  return text + row("images, as the source sees",
                    fmt::format("row 0 {}, column 0 on the {}", top ? "on top" : "below", right ? "right" : "left"));
}

std::string field_of_view_rows(const Geometry& geometry, const DetectorPixels& detector, nlohmann::json& results) {
  if (!detector.size || !detector.spacing)
    return row("field of view", "not known without the detector: -i, or --detector and --pixel");
  const FieldOfView seen = field_of_view(geometry, detector);
  results["field_of_view"] = {{"radius_mm", seen.radius},
                              {"displaced_radius_mm", seen.displaced_radius},
                              {"low_mm", seen.low},
                              {"high_mm", seen.high}};
  std::string text = row(
      "field of view", seen.radius > 0 ? fmt::format("radius {:.6g} mm round the axis, seen in every view", seen.radius)
                                       : "the axis is not seen in every view");
  if (!(seen.radius > 0)) return text;
  if (seen.displaced_radius > seen.radius * 1.001)
    text += row("seen by the longer side", fmt::format("radius {:.6g} mm", seen.displaced_radius));
  text += row("its height", seen.low < seen.high ? fmt::format("{:.6g} mm, y from {:.6g} to {:.6g} mm",
                                                               seen.high - seen.low, seen.low, seen.high)
                                                 : "no height is seen whole at that radius");
  return text;
}

std::string view_rows(const Geometry& geometry) {
  std::string text = fmt::format("{:>6} {:>12} {:>12} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "view",
                                 "gantry", "SID", "SDD", "out", "in", "source x", "source y", "proj. x", "proj. y");
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View& v = geometry.views[n];
    text +=
        fmt::format("{:>6} {:>12.7g} {:>12.7g} {:>12.7g} {:>10.5g} {:>10.5g} {:>10.5g} {:>10.5g} {:>10.5g} {:>10.5g}\n",
                    n, v.gantry_angle + 0.0, v.sid, v.sdd, v.out_of_plane_angle + 0.0, v.in_plane_angle + 0.0,
                    v.source_offset_x + 0.0, v.source_offset_y + 0.0, v.projection_offset_x + 0.0,
                    v.projection_offset_y + 0.0);  // -0 becomes 0
  }
  return text;
}

void run_show(Job& job, ShowCommand& command) {
  job.input("geometry", command.geometry);
  require_svg("--svg", command.svg);
  job.output("--svg", command.svg);
  std::array<bool, 2> backwards{};
  if (const auto stack = command.take_projections(job)) backwards = {stack->direction[0] < 0, stack->direction[4] < 0};
  const ScanFile scan = load_geometry(command.geometry, {}, command.detector);
  const Geometry& geometry = scan.geometry;
  const std::optional<Grid> volume = command.volume();
  auto& results = job.results();
  results = {{"views", geometry.views.size()}, {"parallel", geometry.parallel()}, {"fan_stack", geometry.fan_stack()}};
  const auto angle = [&](std::size_t n) { return geometry.views[n].gantry_angle + 0.0; };  // -0 becomes 0
  std::string text = row("file", command.geometry);
  text += row("views", fmt::format("{}", geometry.views.size()));
  text += row("beam", geometry.parallel()    ? "parallel"
                      : geometry.fan_stack() ? "stack of fans, a source for each detector row"
                                             : "divergent (fan or cone)");
  text += range_row(geometry, "source to isocentre", &View::sid, "mm");
  if (!geometry.parallel()) text += range_row(geometry, "source to detector", &View::sdd, "mm");
  if (!geometry.parallel())
    text += row("magnification", fmt::format("{:.6g}{}", geometry.views.front().sdd / geometry.views.front().sid,
                                             geometry.fan_stack() ? " across, 1 along the rotation axis" : ""));
  const std::size_t last = geometry.views.size() - 1;
  text += row("gantry angle", last == 0
                                  ? fmt::format("{:.6g} degrees", angle(0))
                                  : fmt::format("{:.6g}, {:.6g}, ... {:.6g} degrees", angle(0), angle(1), angle(last)));
  text += sense_rows(geometry, backwards, results);
  text += coverage_rows(geometry, results);
  text += range_row(geometry, "projection offset x", &View::projection_offset_x, "mm");
  text += range_row(geometry, "projection offset y", &View::projection_offset_y, "mm");
  text += range_row(geometry, "source offset x", &View::source_offset_x, "mm");
  text += range_row(geometry, "source offset y", &View::source_offset_y, "mm");
  text += alignment_rows(geometry, scan.detector, backwards, results);
  text += row("detector", geometry.radius_cylindrical_detector > 0
                              ? fmt::format("cylinder of radius {:.6g} mm", geometry.radius_cylindrical_detector)
                              : "flat");
  text += field_of_view_rows(geometry, scan.detector, results);
  if (volume && scan.detector.size && scan.detector.spacing) {
    const Coverage coverage = volume_coverage(geometry, scan.detector, *volume);
    text += row("the volume", fmt::format("{:.1f} % seen in every view, {:.1f} % in at least half of them",
                                          100 * coverage.every_view, 100 * coverage.half_of_views));
    results["volume_seen"] = {{"every_view", coverage.every_view}, {"half_of_views", coverage.half_of_views}};
  }
  if (command.views) text += "\n" + view_rows(geometry);
  job.print(text);
  if (command.svg.empty()) return;
  if (job.dry_run())
    return job.print(fmt::format("would write {}: the geometry seen along and across the axis", command.svg));
  write_file_atomically(command.svg, [&](std::ostream& out) { out << draw_geometry(geometry, scan.detector, volume); });
  job.say(fmt::format("{}: the geometry seen along and across the axis", command.svg));
}

}  // namespace

std::unique_ptr<Command> geometry_show_command() {
  auto sub = std::make_unique<Command>("show",
                                       "Print what a geometry says: beam, distances, angles, coverage, offsets, tilts, "
                                       "field of view; draw it");
  Settings& settings = sub->settings;
  auto command = std::make_shared<ShowCommand>();
  command->add_to(settings);
  settings.add("views", command->views, "Also list the nine parameters of every view");
  settings.add("svg", command->svg, "Draw source, detector, field of view and volume there (.svg)")
      .writes(FileKind::any);
  sub->footer =
      "Example:\n  halocline geometry show geometry.xml --detector 256,192 --pixel 1.2,1.2 --size 128,128,128 "
      "--spacing "
      "1.5,1.5,1.5 --svg geometry.svg";
  sub->run = [command](Job& job) { run_show(job, *command); };
  return sub;
}

}  // namespace halocline
