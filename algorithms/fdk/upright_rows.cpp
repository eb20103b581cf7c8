#include "algorithms/fdk/upright_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "algorithms/geometry/geometry_decompose.hpp"
#include "algorithms/support/vector3.hpp"

namespace halocline {
namespace {

using std::numbers::pi;
/// Cosine of the largest angle between a ray and the way from the source to the axis: 66 degrees.
constexpr double steepest = 0.4;

/// The axes of a detector: along u, along v, and from it towards the source.
struct DetectorAxes {
  Vector3 u, v, back;
};

DetectorAxes axes_of(const View& view) {
  const Placement placement = placement_of(view);
  return {placement.u, placement.v, cross(placement.u, placement.v)};
}

double middle(const Grid& grid, int axis) {
  return 0.5 * (static_cast<double>(grid.size[axis]) - 1);
}

/// Physical u or v of a column or row, mm.
double position(const Grid& grid, int axis, double index) {
  return grid.origin[axis] + grid.direction[4 * axis] * grid.spacing[axis] * index;
}

/// Drift of a row over the detector's width, in rows.
double drift(const View& view, const Grid& projections) {
  const auto way = source_orbit(view).tangent;
  return std::abs(way[1] / way[0]) * static_cast<double>(projections.size[0] - 1) * projections.spacing[0] /
         projections.spacing[1];
}

/// The view without the turn of its rows; its detector is placed later.
View turned_upright(const View& view) {
  View out = view;
  out.in_plane_angle = 0;
  if (view.parallel()) return out;
  const Vector3 source = source_position(view);
  out.out_of_plane_angle = 0;
  out.gantry_angle = source_orbit(view).angle * 180 / pi;
  out.sid = std::hypot(source[0], source[2]);
  out.source_offset_x = 0;
  out.source_offset_y = source[1];
  return out;
}

/// Point where a ray meets the upright detector: x' and y' of its view in mm, at the distance SDD.
class Footprint {
 public:
  Footprint(const View& view, double radius, const View& upright)
      : rays_(view, radius),
        axes_(axes_of(upright)),
        parallel_(view.parallel()),
        fan_stack_(view.fan_stack),
        offset_(upright.source_offset_y) {}

  /// The cosine between a ray of a cone beam and the way from the source to the axis.
  double ahead(double u, double v) const { return -dot(rays_.to(u, v).direction, axes_.back); }

  std::array<double, 2> at(double u, double v, double sdd) const {
    const Ray ray = rays_.to(u, v);
    if (parallel_) return {dot(ray.origin, axes_.u), dot(ray.origin, axes_.v)};
    const double scale = sdd / -dot(ray.direction, axes_.back);
    if (fan_stack_) return {scale * dot(ray.direction, axes_.u), dot(ray.origin, axes_.v)};
    return {scale * dot(ray.direction, axes_.u), scale * dot(ray.direction, axes_.v) + offset_};
  }

 private:
  ViewRays rays_;
  DetectorAxes axes_;
  bool parallel_, fan_stack_;
  double offset_;
};

/// Calls visit(u, v) for points that bound the measured detector's image on any plane: of a cylinder the ends are
/// curved.
template <class Visit>
void for_outline(const Geometry& geometry, const Grid& projections, Visit&& visit) {
  const std::size_t last = projections.size[0] - 1, step = geometry.radius_cylindrical_detector > 0 ? 1 : last;
  for (std::size_t column = 0; column <= last; column += std::max<std::size_t>(1, step))
    for (const double row : {0.0, 2 * middle(projections, 1)})
      visit(position(projections, 0, static_cast<double>(column)), position(projections, 1, row));
}

/// Places the upright detector with its centre on that of the measured one, and the same size.
View placed(const View& view, const Geometry& geometry, const Grid& projections) {
  View out = turned_upright(view);
  const Footprint footprint(view, geometry.radius_cylindrical_detector, out);
  const double u = position(projections, 0, middle(projections, 0)),
               v = position(projections, 1, middle(projections, 1));
  if (!view.parallel()) {
    const auto slopes = ray_slopes(view, geometry.radius_cylindrical_detector, u, v);
    out.sdd = view.sdd * std::hypot(slopes[0], slopes[1], 1.0) * footprint.ahead(u, v);
  }
  const auto centre = footprint.at(u, v, out.sdd);
  out.projection_offset_x = centre[0];
  out.projection_offset_y = centre[1];
  return out;
}

bool too_steep(const View& view, const Geometry& geometry, const Grid& projections) {
  if (view.parallel()) return false;
  const Footprint footprint(view, geometry.radius_cylindrical_detector, turned_upright(view));
  double least = 1;
  for_outline(geometry, projections, [&](double u, double v) { least = std::min(least, footprint.ahead(u, v)); });
  return least < steepest;
}

/// The pitch and, at least, the pixels of the measured detector; as many more on either side as all views need.
Grid detector_of(const Geometry& geometry, const Grid& projections, const Geometry& upright,
                 const std::array<std::size_t, 2>& kept) {
  std::array<double, 2> half{middle(projections, 0), middle(projections, 1)};  // in pixels
  const std::array<double, 2> measured = half;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View& view = upright.views[n];
    const Footprint footprint(geometry.views[n], geometry.radius_cylindrical_detector, view);
    for_outline(geometry, projections, [&](double u, double v) {
      const auto at = footprint.at(u, v, view.sdd);
      half[0] = std::max(half[0], std::abs(at[0] - view.projection_offset_x) / projections.spacing[0]);
      half[1] = std::max(half[1], std::abs(at[1] - view.projection_offset_y) / projections.spacing[1]);
    });
  }
  Grid grid = projections;
  grid.direction = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (int axis = 0; axis < 2; ++axis) {
    // an even number more: then pixels of what is not turned fall on pixels
    grid.size[axis] += 2 * static_cast<std::size_t>(std::ceil(half[axis] - measured[axis] - 1e-6));
    if (kept[axis] > 0 && grid.size[axis] <= kept[axis] + 2 + kept[axis] / 64) grid.size[axis] = kept[axis];
    grid.origin[axis] = -middle(grid, axis) * grid.spacing[axis];
  }
  return grid;
}

/// Columns (column, row, 1) of x' in the upright view's frame, from its source (parallel beam: from its origin).
std::array<Vector3, 3> pixel_vectors(const View& view, const Grid& grid) {
  const double u = view.projection_offset_x + grid.origin[0],
               v = view.projection_offset_y + grid.origin[1] - (view.parallel() ? 0 : view.source_offset_y);
  return {Vector3{grid.spacing[0], 0, 0}, Vector3{0, grid.spacing[1], 0}, Vector3{u, v, -view.sdd}};
}

/// beyond: the outermost columns, so far over which what is measured is taken to reach.
UprightRows::Map map_of(const View& view, double radius, const Grid& projections, const View& upright,
                        const Grid& detector, double beyond) {
  const DetectorAxes from = axes_of(upright), to = axes_of(view);
  const auto pixel = pixel_vectors(upright, detector);
  UprightRows::Map map;
  auto& m = map.to_measured;
  for (int n = 0; n < 3; ++n) {
    const Vector3 world =
        add_scaled(add_scaled(scaled(pixel[n][0], from.u), pixel[n][1], from.v), pixel[n][2], from.back);
    m[n] = dot(to.u, world);
    m[3 + n] = dot(to.v, world);
    m[6 + n] = view.parallel() ? (n == 2 ? 1 : 0) : -dot(to.back, world);
    if (view.fan_stack && radius > 0) m[3 + n] /= view.sdd;  // slopes
  }
  if (radius > 0) {
    for (int end = 0; end < 2; ++end)
      map.ends[end] = ray_slopes(
          view, radius, position(projections, 0, end == 0 ? -beyond : 2 * middle(projections, 0) + beyond), 0)[0];
    std::sort(map.ends.begin(), map.ends.end());
  } else {
    const double sdd = view.parallel() ? 1 : view.sdd;
    const double source[2] = {view.parallel() ? 0 : view.source_offset_x, view.parallel() ? 0 : view.source_offset_y};
    const double offset[2] = {view.projection_offset_x, view.projection_offset_y};
    for (int axis = 0; axis < 2; ++axis)
      for (int n = 0; n < 3; ++n) {
        const bool level = view.fan_stack && axis == 1;  // rows are not seen from one point
        const double scale = level ? 1 : sdd, one = level ? (n == 2 ? 1 : 0) : m[6 + n];
        m[3 * axis + n] = (m[3 * axis + n] * scale + (source[axis] - offset[axis] - projections.origin[axis]) * one) *
                          projections.direction[4 * axis] / projections.spacing[axis];
      }
    map.ends = {-beyond, 2 * middle(projections, 0) + beyond};
  }
  const double c = middle(detector, 0), r = middle(detector, 1);
  const double x = m[0] * c + m[1] * r + m[2], z = m[6] * c + m[7] * r + m[8];
  if (m[0] * z < x * m[6]) std::swap(map.ends[0], map.ends[1]);
  for (int n = 0; n < 9; ++n)
    if (!view.fan_stack || n / 3 != 1) m[n] /= z;
  return map;
}

/// Moves detectors along their rows, by half a pitch at most, so that every column has another as far from the axis on
/// its other side: all stand at whole or at half pitches from it, whichever is less far.
void move_to_symmetry(std::vector<View>& views, const Grid& projections) {
  const double pitch = projections.spacing[0];
  const auto off = [&](const View& view, double half) {
    const double first = view.projection_offset_x / pitch - middle(projections, 0) - half;
    return first - std::round(first);
  };
  double whole = 0, half = 0;
  for (const View& view : views) whole += std::pow(off(view, 0), 2), half += std::pow(off(view, 0.5), 2);
  for (View& view : views) view.projection_offset_x -= pitch * off(view, half < whole ? 0.5 : 0);
}

}  // namespace

bool rows_are_slanted(const Geometry& geometry, const Grid& projections) {
  return std::any_of(geometry.views.begin(), geometry.views.end(),
                     [&](const View& view) { return drift(view, projections) > noticeable_drift; });
}

std::optional<UprightRows> upright_rows(const Geometry& geometry, const Grid& projections,
                                        const std::array<std::size_t, 2>& kept, bool symmetric) {
  const bool slanted = rows_are_slanted(geometry, projections);
  if (symmetric ? slanted && projections.size[1] == 1 : projections.size[1] == 1 || (kept[0] == 0 && !slanted))
    return std::nullopt;
  for (const View& view : geometry.views)
    if (too_steep(view, geometry, projections)) return std::nullopt;
  UprightRows out;
  for (const View& view : geometry.views) out.geometry.views.push_back(placed(view, geometry, projections));
  if (symmetric) move_to_symmetry(out.geometry.views, projections);
  out.detector = detector_of(geometry, projections, out.geometry, kept);
  for (std::size_t n = 0; n < geometry.views.size(); ++n)
    out.maps.push_back(map_of(geometry.views[n], geometry.radius_cylindrical_detector, projections,
                              out.geometry.views[n], out.detector, symmetric ? 0.5 : 0));
  return out;
}

double measured_on_both_sides(const UprightRows& upright, bool right) {
  double least = std::numeric_limits<double>::max();
  for (std::size_t n = 0; n < upright.maps.size(); ++n) {
    const auto& m = upright.maps[n].to_measured;
    const View& view = upright.geometry.views[n];
    for (const double row : {0.0, 2 * middle(upright.detector, 1)}) {
      const double end = upright.maps[n].ends[right ? 0 : 1], z = m[7] * row + m[8];
      const double at = (end * z - m[1] * row - m[2]) / (m[0] - end * m[6]);  // as column_of() of fdk_general.clh
      const double column = right ? std::ceil(at - 0.001) : std::floor(at + 0.001);
      const double x = view.projection_offset_x + position(upright.detector, 0, column);
      least = std::min(least, (right ? -x : x) / (view.parallel() ? 1 : view.sdd));
    }
  }
  return least;
}

std::optional<std::string> remaining_slant(const Geometry& geometry, const Grid& projections) {
  double slant = 0;
  for (const View& view : geometry.views) slant = std::max(slant, row_slant(view));
  if (!(slant > 1) || upright_rows(geometry, projections)) return std::nullopt;
  return fmt::format(
      "the detector's rows stand at up to {:.4g} degrees to the way of the source, and {}; filtering along them is an "
      "approximation for small angles, and values are off by per cents",
      slant,
      projections.size[1] == 1 ? "a detector of one row has no others to resample them from"
                               : "rays are too steep to the plane across the rotation axis to resample them");
}

namespace {

/// Least and greatest depth of the detector over SDD, along the way of the perpendicular ray: less than 1 on a
/// cylinder.
std::array<double, 2> depths(const View& view, double radius, const Grid& projections) {
  double least = 1;
  if (radius > 0)
    for (const double column : {0.0, 2 * middle(projections, 0)}) {
      const double x = view.projection_offset_x + position(projections, 0, column);
      least = std::min(least, 1 - radius / view.sdd * (1 - std::cos(x / radius)));
    }
  return {least, 1};
}

/// Measured rows that a row of the plane needs in one view.
class RowsMet {
 public:
  RowsMet(const View& view, double radius, const Grid& projections, const UprightRows::Map* map)
      : view_(view),
        radius_(radius),
        projections_(projections),
        map_(map),
        depths_(depths(view, radius, projections)) {}

  /// Calls visit(row) for measured rows, with fractions, which bound those that the plane's row meets. A row is
  /// straight on a flat detector, so its ends suffice; a cylinder's rows are nearer than the plane by its depths.
  template <class Visit>
  void operator()(const Grid& plane, double row, Visit&& visit) const {
    for (const double column : {0.0, 2 * middle(plane, 0)}) {
      double v = (position(plane, 1, row) + view_.projection_offset_y - view_.source_offset_y) / view_.sdd;
      if (map_ != nullptr) {
        const auto& m = map_->to_measured;
        const double z = m[6] * column + m[7] * row + m[8];
        if (!(z > 0)) {  // so far beyond the detector that any may be the nearest
          visit(0);
          visit(2 * middle(projections_, 1));
          continue;
        }
        v = (m[3] * column + m[4] * row + m[5]) / (view_.fan_stack ? 1 : z);
      }
      if (radius_ == 0)
        visit(v);
      else
        for (const double depth : depths_) visit(row_of_slope(view_.fan_stack ? v : v * depth));
    }
  }

 private:
  double row_of_slope(double slope) const {
    const double v = slope * view_.sdd + view_.source_offset_y - view_.projection_offset_y;
    return (v - projections_.origin[1]) * projections_.direction[4] / projections_.spacing[1];
  }

  const View& view_;
  double radius_;
  const Grid& projections_;
  const UprightRows::Map* map_;
  std::array<double, 2> depths_;
};

}  // namespace

std::vector<Range> measured_rows(const Geometry& geometry, const Grid& projections, const Grid& plane,
                                 const UprightRows* upright) {
  std::vector<RowsMet> views;
  for (std::size_t n = 0; n < geometry.views.size(); ++n)
    views.emplace_back(geometry.views[n], geometry.radius_cylindrical_detector, projections,
                       upright == nullptr ? nullptr : &upright->maps[n]);
  const double last = 2 * middle(projections, 1);
  std::vector<Range> out;
  for (std::size_t row = 0; row < plane.size[1]; ++row) {
    double lowest = std::numeric_limits<double>::max(), highest = std::numeric_limits<double>::lowest();
    for (const RowsMet& rows_met : views)
      rows_met(plane, static_cast<double>(row), [&](double met) {
        lowest = std::min(lowest, met);
        highest = std::max(highest, met);
      });
    // a tenth of a pixel for what float32 rounds; two neighbours of a coordinate on either side
    const auto begin = static_cast<std::int64_t>(std::clamp(std::floor(lowest - 0.1) - 1, 0.0, last));
    out.push_back({begin, static_cast<std::int64_t>(std::clamp(std::floor(highest + 0.1) + 2, 0.0, last)) + 1});
  }
  return out;
}

}  // namespace halocline
