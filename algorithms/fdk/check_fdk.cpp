#include "algorithms/fdk/check_fdk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "algorithms/fdk/filtered_rows.hpp"
#include "algorithms/geometry/suspicious_views.hpp"
#include "algorithms/support/check_input.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

using std::numbers::pi;
constexpr double noticeable_elevation = 10;  // degrees

/// Number of a view in the geometry, or in the scan that its views are taken from.
std::size_t number_of(std::size_t view, std::span<const std::size_t> numbers) {
  return numbers.empty() ? view : numbers[view];
}

/// The angle between the rays to a point and the plane across the rotation axis, degrees.
double elevation(const View& view, const std::array<double, 3>& point) {
  std::array<double, 3> way = ray_direction(view);
  if (!view.parallel() && !view.fan_stack) {
    const auto source = source_position(view);
    for (int axis = 0; axis < 3; ++axis) way[axis] = point[axis] - source[axis];
  }
  return std::atan2(std::abs(way[1]), std::hypot(way[0], way[2])) * 180 / pi;
}

struct Interval {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool meets(double from, double to) const { return high > from && low < to; }
};

/// True if some view's detector is in the volume's shadow; the bounding box of the corners is generous.
bool is_seen(const Geometry& geometry, const Grid& projections, const Grid& grid) {
  for (const View& view : geometry.views) {
    const Matrix34 m = index_to_detector(view, grid, projections);
    Interval u, v;
    int behind = 0;
    for (int corner = 0; corner < 8; ++corner) {
      double p[3];
      for (int axis = 0; axis < 3; ++axis)
        p[axis] = 0.5 * (static_cast<double>(grid.size[axis]) - 1) * (corner >> axis & 1 ? 1 : -1);
      const auto row = [&](int n) {
        return m[4 * n] * p[0] + m[4 * n + 1] * p[1] + m[4 * n + 2] * p[2] + m[4 * n + 3];
      };
      const double w = row(2);
      if (w <= 0) {
        ++behind;
        continue;
      }
      u.include(row(0) / w);
      v.include(view.fan_stack ? row(1) : row(1) / w);
    }
    if (behind == 8) continue;    // all of it behind the source
    if (behind > 0) return true;  // the source is within its bounds: too near to decide by corners
    if (u.meets(-1, static_cast<double>(projections.size[0])) && v.meets(-1, static_cast<double>(projections.size[1])))
      return true;
  }
  return false;
}

/// Extent of the detector in mm at the isocentre's depth, over all views.
struct Reach {
  Interval across, along;
};
Reach reach_of(const Geometry& geometry, const Grid& projections) {
  Reach reach;
  for (const View& view : geometry.views) {
    const auto include = [&](Interval& interval, int axis, double sign, double projection_offset,
                             double source_offset) {
      for (const double end : {-0.5, static_cast<double>(projections.size[axis]) - 0.5}) {
        const double mm = projections.origin[axis] + sign * end * projections.spacing[axis] + projection_offset;
        const bool magnified = !view.parallel() && !(view.fan_stack && axis == 1);
        interval.include(magnified ? (mm - source_offset) * view.sid / view.sdd + source_offset : mm);
      }
    };
    include(reach.across, 0, projections.direction[0], view.projection_offset_x, view.source_offset_x);
    include(reach.along, 1, projections.direction[4], view.projection_offset_y, view.source_offset_y);
  }
  return reach;
}

[[noreturn]] void refuse_unseen(const Geometry& geometry, const Grid& projections, const Grid& grid) {
  Interval box[3];
  for (int corner = 0; corner < 8; ++corner) {
    double index[3];
    for (int axis = 0; axis < 3; ++axis)
      index[axis] = corner >> axis & 1 ? static_cast<double>(grid.size[axis]) - 1 : 0;
    const auto world = grid.world(index[0], index[1], index[2]);
    for (int axis = 0; axis < 3; ++axis) box[axis].include(world[axis]);
  }
  const Reach reach = reach_of(geometry, projections);
  throw InputError(fmt::format(
      "no view sees any of the volume: it spans x {:.6g} to {:.6g}, y {:.6g} to {:.6g} and z {:.6g} to {:.6g} mm, "
      "but at the isocentre's depth the detector spans {:.6g} to {:.6g} mm across and {:.6g} to {:.6g} mm along "
      "the rotation axis y; check the volume's origin and spacing, and the detector's origin and offsets",
      box[0].low, box[0].high, box[1].low, box[1].high, box[2].low, box[2].high, reach.across.low, reach.across.high,
      reach.along.low, reach.along.high));
}

// Refuses rows that stand far too steep to the way of the source.
void check_row_slant(const Geometry& geometry, const std::string& geometry_name,
                     std::span<const std::size_t> numbers = {}) {
  const auto steepest = std::max_element(geometry.views.begin(), geometry.views.end(),
                                         [](const View& a, const View& b) { return row_slant(a) < row_slant(b); });
  const double slant = row_slant(*steepest);
  if (slant > largest_row_slant)
    throw InputError(
        fmt::format("{}: in projection {} the detector's rows stand at {:.4g} degrees to the way of the source; "
                    "filtering needs rows across the rotation axis, so {}correct the angles",
                    geometry_name, number_of(static_cast<std::size_t>(steepest - geometry.views.begin()), numbers),
                    slant, turn_or(slant)));
}

}  // namespace

std::vector<std::string> check_fdk_views(const Geometry& geometry, const Grid& grid, const std::string& geometry_name,
                                         std::span<const std::size_t> numbers) {
  std::vector<std::string> notes;
  check_row_slant(geometry, geometry_name, numbers);
  const auto half = [](std::size_t size) { return 0.5 * (static_cast<double>(size) - 1); };
  const auto centre = grid.world(half(grid.size[0]), half(grid.size[1]), half(grid.size[2]));
  const auto highest =
      std::max_element(geometry.views.begin(), geometry.views.end(),
                       [&](const View& a, const View& b) { return elevation(a, centre) < elevation(b, centre); });
  if (const double angle = elevation(*highest, centre); angle > noticeable_elevation)
    notes.push_back(fmt::format(
        "{}: rays of projection {} meet the volume's centre at {:.4g} degrees to the plane across the rotation axis; "
        "filtered back-projection is made for that plane, and values are off by per cents",
        geometry_name, number_of(static_cast<std::size_t>(highest - geometry.views.begin()), numbers), angle));
  for (const auto& suspicious : suspicious_views(geometry, numbers))
    notes.push_back(fmt::format("{}: {}", geometry_name, suspicious));
  return notes;
}

std::vector<std::string> check_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                   const std::string& projections_name, const std::string& geometry_name,
                                   const RedundancyOptions& options) {
  check_projections(projections, projections_name, geometry, geometry_name, DetectorShape::flat_or_cylinder);
  check_grid(grid, "the volume");
  check_fan_stack(geometry, grid, "the volume");
  const auto& d = projections.direction;
  if (std::max(std::abs(d[1]), std::abs(d[3])) > 1e-4)
    throw InputError(fmt::format(
        "{}: the detector's axes are turned by {:.4g} degrees in its plane; filtering needs rows along u, so give "
        "that angle as the geometry's in-plane angle",
        projections_name, std::atan2(d[3], d[0]) * 180 / pi));
  check_row_slant(geometry, geometry_name);
  const AngularCoverage coverage = angular_coverage(geometry, options.allow_incomplete_arc);
  if (coverage.inner_gap > largest_view_gap)
    throw InputError(
        fmt::format("{}: its {} views leave a gap of {:.6g} degrees; a reconstruction needs views all round, "
                    "no farther apart than {:.6g} degrees",
                    geometry_name, geometry.views.size(), coverage.inner_gap * 180 / pi, largest_view_gap * 180 / pi));
  const Redundancy redundancy = redundancy_of(geometry, projections, options, geometry_name);
  const Grid seen = flat_detector(geometry, projections);
  if (!is_seen(geometry, seen, grid)) refuse_unseen(geometry, seen, grid);

  std::vector<std::string> notes;
  if (coverage.repeated_views > 0)
    notes.push_back(fmt::format("{}: {} an angle; views at one angle share its weight", geometry_name,
                                plural(coverage.repeated_views, "view repeats", "views repeat")));
  if (coverage.disordered)
    notes.push_back(fmt::format(
        "{}: the gantry angles are in no order round the circle; each view is weighted by the gaps beside it",
        geometry_name));
  if (const auto slanted = remaining_slant(geometry, projections))
    notes.push_back(fmt::format("{}: {}", geometry_name, *slanted));
  notes.insert(notes.end(), redundancy.notes.begin(), redundancy.notes.end());
  const Interval across = reach_of(geometry, seen).across;
  const double wide = std::max(-across.low, across.high), narrow = std::min(-across.low, across.high);
  if (redundancy.kind != Redundancy::Kind::wang && narrow < 0.8 * wide)
    notes.push_back(fmt::format(
        "{}: the detector is displaced; at the isocentre it spans {:.6g} to {:.6g} mm, so what lies farther than "
        "{:.6g} mm from the axis is missed by part of the views and comes out wrong",
        geometry_name, across.low, across.high, std::max(0.0, narrow)));
  return notes;
}

}  // namespace halocline
