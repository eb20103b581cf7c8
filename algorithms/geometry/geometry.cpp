#include "algorithms/geometry/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "algorithms/geometry/collimation.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

using std::numbers::pi;
using Vector3 = std::array<double, 3>;
using Matrix33 = std::array<double, 9>;

Matrix33 multiply(const Matrix33& a, const Matrix33& b) {
  Matrix33 c{};
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column)
      for (int n = 0; n < 3; ++n) c[3 * row + column] += a[3 * row + n] * b[3 * n + column];
  return c;
}

/// World to rotated coordinates: Rz(-in plane) Rx(-out of plane) Ry(-gantry).
Matrix33 rotation(const View& view) {
  constexpr double radian = pi / 4 / 45;  // rounded as RTK does, so that its files are reproduced to the last digit
  const auto sine = [](double degrees) { return std::sin(-degrees * radian); };
  const auto cosine = [](double degrees) { return std::cos(-degrees * radian); };
  const double cy = cosine(view.gantry_angle), sy = sine(view.gantry_angle);
  const double cx = cosine(view.out_of_plane_angle), sx = sine(view.out_of_plane_angle);
  // Images that are stored from the top row have an in-plane angle of half a turn. Its sine is 0 to the last bit, so
  // that columns are exactly along the axis, which kernels make use of.
  const double cz = cosine(view.in_plane_angle),
               sz = std::abs(view.in_plane_angle) == 180 ? 0 : sine(view.in_plane_angle);
  const Matrix33 about_y{cy, 0, sy, 0, 1, 0, -sy, 0, cy};
  const Matrix33 about_x{1, 0, 0, 0, cx, -sx, 0, sx, cx};
  const Matrix33 about_z{cz, -sz, 0, sz, cz, 0, 0, 0, 1};
  return multiply(about_z, multiply(about_x, about_y));
}

/// Rotated coordinates to the world: the inverse of a rotation is its transpose.
Matrix33 inverse_rotation(const View& view) {
  const Matrix33 r = rotation(view);
  return {r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]};
}

Vector3 times(const Matrix33& m, const Vector3& p) {
  return {m[0] * p[0] + m[1] * p[1] + m[2] * p[2], m[3] * p[0] + m[4] * p[1] + m[5] * p[2],
          m[6] * p[0] + m[7] * p[1] + m[8] * p[2]};
}

Vector3 to_world(const View& view, const Vector3& p) {
  return times(inverse_rotation(view), p);
}

}  // namespace

Matrix34 projection_matrix(const View& view) {
  const Matrix33 r = rotation(view);
  Matrix34 m{};
  if (view.parallel()) {
    for (int n = 0; n < 3; ++n) {
      m[n] = r[n];
      m[4 + n] = r[3 + n];
    }
    m[3] = -view.projection_offset_x;
    m[7] = -view.projection_offset_y;
    m[11] = 1;
    return m;
  }
  const double shift_x = view.source_offset_x - view.projection_offset_x;
  const double shift_y = view.source_offset_y - view.projection_offset_y;
  for (int n = 0; n < 3; ++n) {
    m[n] = -view.sdd * r[n] + shift_x * r[6 + n];
    m[4 + n] = -view.sdd * r[3 + n] + shift_y * r[6 + n];
    m[8 + n] = r[6 + n];
  }
  m[3] = view.sdd * view.source_offset_x - shift_x * view.sid;
  m[7] = view.sdd * view.source_offset_y - shift_y * view.sid;
  m[11] = -view.sid;
  if (view.fan_stack) {
    for (int n = 0; n < 3; ++n) m[4 + n] = r[3 + n];
    m[7] = -view.projection_offset_y;
  }
  return m;
}

std::array<double, 2> isocentre_on_detector(const View& view) {
  const Matrix34 m = projection_matrix(view);
  return {m[3] / m[11], view.fan_stack ? m[7] : m[7] / m[11]};
}

std::array<double, 3> source_position(const View& view) {
  return to_world(view, {view.source_offset_x, view.source_offset_y, view.sid});
}

std::array<double, 3> detector_point(const View& view, double u, double v) {
  const double depth = view.parallel() ? -view.sid : view.sid - view.sdd;
  return to_world(view, {view.projection_offset_x + u, view.projection_offset_y + v, depth});
}

std::array<double, 3> ray_direction(const View& view) {
  return to_world(view, {0, 0, -1});
}

SourceOrbit source_orbit(const View& view) {
  // in the frame that turns with the gantry, so that a scan without tilts and offsets gets round numbers
  View level = view;
  level.gantry_angle = 0;
  const Matrix33 r = rotation(level);
  const Vector3 source = view.parallel() ? to_world(level, {0, 0, 1}) : source_position(level);
  return {view.gantry_angle * pi / 180 + std::atan2(source[0], source[2]), times(r, {source[2], 0, -source[0]}),
          times(r, {-source[0], 0, -source[2]})};
}

double row_slant(const View& view) {
  const auto way = source_orbit(view).tangent;
  return std::atan2(std::abs(way[1]), std::abs(way[0])) * 180 / pi;
}

std::array<double, 2> ray_slopes(const View& view, double radius, double u, double v) {
  double x = view.projection_offset_x + u, depth = view.sdd;
  if (radius > 0) {
    depth -= radius * (1 - std::cos(x / radius));
    x = radius * std::sin(x / radius);
  }
  const double along = view.fan_stack ? 0 : view.projection_offset_y + v - view.source_offset_y;
  return {(x - view.source_offset_x) / depth, along / depth};
}

ViewRays::ViewRays(const View& view, double radius)
    : view_(view), radius_(radius), to_world_(inverse_rotation(view)), source_(source_position(view)) {}

Ray ViewRays::to(double u, double v) const {
  const double x = view_.projection_offset_x + u, y = view_.projection_offset_y + v;
  if (view_.parallel()) return {times(to_world_, {x, y, view_.sid}), times(to_world_, {0, 0, -1})};
  const Vector3 source = view_.fan_stack ? times(to_world_, {view_.source_offset_x, y, view_.sid}) : source_;
  if (radius_ > 0) {
    const auto [across, along] = ray_slopes(view_, radius_, u, v);
    const double length = std::hypot(across, along, 1.0);
    return {source, times(to_world_, {across / length, along / length, -1 / length})};
  }
  const double dx = x - view_.source_offset_x, dy = view_.fan_stack ? 0 : y - view_.source_offset_y;
  const double length = std::hypot(dx, dy, view_.sdd);
  return {source, times(to_world_, {dx / length, dy / length, -view_.sdd / length})};
}

namespace {

/// Detector rows of a stack of fans: that of the volume's middle, and the step a slice.
struct RowOfSlices {
  double centre, step;
};
RowOfSlices row_of_slices(const View& view, const Grid& volume, const Grid& projections) {
  constexpr double close = 1e-6;  // of a row
  const auto middle = [](std::size_t size) { return 0.5 * (static_cast<double>(size) - 1); };
  const double up = rotation(view)[4], pitch = projections.direction[4] * projections.spacing[1];
  const double height = volume.world(middle(volume.size[0]), middle(volume.size[1]), middle(volume.size[2]))[1];
  double centre = (up * height - view.projection_offset_y - projections.origin[1]) / pitch;
  double step = up * volume.direction[5] * volume.spacing[2] / pitch;
  if (std::abs(2 * centre - std::round(2 * centre)) < close) centre = 0.5 * std::round(2 * centre);
  const double ends = middle(volume.size[2]) * std::abs(std::abs(step) - 1);
  if (ends < close) step = std::copysign(1.0, step);
  return {centre, step};
}

}  // namespace

Matrix34 index_to_detector(const View& view, const Grid& volume, const Grid& projections) {
  const Matrix34 m = projection_matrix(view);
  // centred volume indices to physical detector mm, scaled so that row 3 is 1 at the isocentre's depth
  const double scale = view.parallel() ? 1 : -1 / view.sid;
  const Vector3 centre =
      volume.world(0.5 * (static_cast<double>(volume.size[0]) - 1), 0.5 * (static_cast<double>(volume.size[1]) - 1),
                   0.5 * (static_cast<double>(volume.size[2]) - 1));
  Matrix34 physical{};
  for (int row = 0; row < 3; ++row) {
    for (int axis = 0; axis < 3; ++axis) {
      double sum = 0;
      for (int n = 0; n < 3; ++n) sum += m[4 * row + n] * volume.direction[3 * n + axis];
      physical[4 * row + axis] = (view.fan_stack && row == 1 ? 1 : scale) * sum * volume.spacing[axis];
    }
    double sum = m[4 * row + 3];
    for (int n = 0; n < 3; ++n) sum += m[4 * row + n] * centre[n];
    physical[4 * row + 3] = (view.fan_stack && row == 1 ? 1 : scale) * sum;
  }
  // physical detector mm to pixel indices: the inverse of origin + direction * (spacing o index) in the detector's
  // plane
  const auto& d = projections.direction;
  Matrix34 out{};
  for (int n = 0; n < 4; ++n) {
    const double w = physical[8 + n];
    const double u = physical[n] - projections.origin[0] * w, v = physical[4 + n] - projections.origin[1] * w;
    out[n] = (d[0] * u + d[3] * v) / projections.spacing[0];
    out[4 + n] = (d[1] * u + d[4] * v) / projections.spacing[1];
    out[8 + n] = w;
  }
  if (!view.fan_stack) return out;
  const auto row = row_of_slices(view, volume, projections);
  for (int n = 0; n < 4; ++n) out[4 + n] = n == 2 ? row.step : n == 3 ? row.centre : 0;
  return out;
}

Geometry circular_geometry(const CircularOptions& options) {
  const std::size_t count = options.angles.empty() ? options.projections : options.angles.size();
  if (count == 0) throw InputError("the number of projections is 0; a scan needs at least one view");
  if (options.angles.empty() && count > 1 && options.arc == 0)
    throw InputError(
        fmt::format("an arc of 0 degrees for {} projections; give the angle that the gantry turns", count));
  Geometry geometry;
  geometry.views.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    View view;
    view.sid = options.sid;
    view.sdd = options.sdd;
    view.gantry_angle = options.angles.empty()
                            ? options.first_angle + static_cast<double>(i) * options.arc / static_cast<double>(count)
                            : options.angles[i];
    view.out_of_plane_angle = options.out_of_plane_angle;
    view.in_plane_angle = options.in_plane_angle;
    view.source_offset_x = options.source_offset_x;
    view.source_offset_y = options.source_offset_y;
    view.projection_offset_x = options.projection_offset_x;
    view.projection_offset_y = options.projection_offset_y;
    view.fan_stack = options.fan_stack;
    geometry.views.push_back(view);
  }
  check_geometry(geometry, "the circular geometry");
  return geometry;
}

Geometry select_views(const Geometry& geometry, const std::vector<std::size_t>& views) {
  Geometry selected = geometry;
  selected.views.clear();
  for (const std::size_t view : views) {
    selected.views.push_back(geometry.views.at(view));
    if (int& number = selected.views.back().number; number < 0) number = static_cast<int>(view);
  }
  return selected;
}

std::vector<std::int32_t> view_numbers(const Geometry& geometry) {
  std::vector<std::int32_t> numbers;
  for (const View& view : geometry.views)
    numbers.push_back(view.number < 0 ? static_cast<std::int32_t>(numbers.size()) : view.number);
  return numbers;
}

namespace {

/// Calls fail(text) if a view of a stack of fans is not as others are, or its rows leave their planes.
template <class Fail>
void check_fans(const View& view, const Geometry& geometry, const Fail& fail) {
  if (view.fan_stack != geometry.fan_stack())
    fail("one of this view and projection 0 is of a stack of fans, the other is not; give scans of one kind");
  if (!view.fan_stack) return;
  if (view.parallel())
    fail(
        "it is of a stack of fans, but the beam is parallel, whose rows are a stack by themselves; leave `fan_stack` "
        "out, or give the source to detector distance");
  if (view.out_of_plane_angle != 0 || (view.in_plane_angle != 0 && std::abs(view.in_plane_angle) != 180))
    fail(fmt::format(
        "it is of a stack of fans, but the detector is tilted (out-of-plane angle {:g}, in-plane angle {:g} "
        "degrees), and rows would leave their planes; the angles must be 0 (in-plane: 0 or 180)",
        view.out_of_plane_angle, view.in_plane_angle));
  if (view.source_offset_y != 0)
    fail(
        fmt::format("it is of a stack of fans, but the source offset y is {:g} mm; each row has a source at its own "
                    "height, so give 0",
                    view.source_offset_y));
}

}  // namespace

void check_geometry(const Geometry& geometry, const std::string& name) {
  if (geometry.views.empty())
    throw InputError(fmt::format("{}: there are no projections; at least one is needed", name));
  if (!(geometry.radius_cylindrical_detector >= 0) || !std::isfinite(geometry.radius_cylindrical_detector))
    throw InputError(
        fmt::format("{}: the radius of the cylindrical detector is {} mm; it must be positive, or 0 for a "
                    "flat detector",
                    name, geometry.radius_cylindrical_detector));
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View& view = geometry.views[n];
    const auto fail = [&](const std::string& text) {
      throw InputError(fmt::format("{}: projection {} of {}: {}", name, n, geometry.views.size(), text));
    };
    const auto finite = [&](const char* what, double value) {
      if (!std::isfinite(value)) fail(fmt::format("{} is {}; it must be a finite number", what, value));
    };
    constexpr double far = 1e9;  // mm or degrees: no scan reaches there, and float32 would lose it
    for (const auto& [what, value] : {std::pair{"the source to isocentre distance", view.sid},
                                      {"the source to detector distance", view.sdd},
                                      {"the gantry angle", view.gantry_angle},
                                      {"the out-of-plane angle", view.out_of_plane_angle},
                                      {"the in-plane angle", view.in_plane_angle},
                                      {"the source offset x", view.source_offset_x},
                                      {"the source offset y", view.source_offset_y},
                                      {"the projection offset x", view.projection_offset_x},
                                      {"the projection offset y", view.projection_offset_y}}) {
      finite(what, value);
      if (std::abs(value) > far)
        fail(fmt::format("{} is {:g}; no more than {:g} mm or degrees are expected", what, value, far));
    }
    finite("the collimation u inf", view.collimation_u_inf);
    finite("the collimation u sup", view.collimation_u_sup);
    finite("the collimation v inf", view.collimation_v_inf);
    finite("the collimation v sup", view.collimation_v_sup);
    if (!(view.sid > 0)) fail(fmt::format("the source to isocentre distance is {} mm; it must be positive", view.sid));
    if (view.sdd < 0)
      fail(fmt::format("the source to detector distance is {} mm; it must be positive, or 0 for a parallel beam",
                       view.sdd));
    if (view.parallel() != geometry.parallel())
      fail(
          fmt::format("the source to detector distance is {} mm, but {} mm in projection 0; parallel (0) and divergent "
                      "views cannot be mixed",
                      view.sdd, geometry.views.front().sdd));
    check_fans(view, geometry, fail);
    if (!view.parallel() && view.sdd < view.sid * (1 - 1e-9))
      fail(fmt::format(
          "the source to detector distance {} mm is smaller than the source to isocentre distance {} mm: the "
          "detector would stand between source and axis; are the two exchanged? (Equal ones are a virtual detector "
          "through the axis, 0 is a parallel beam.)",
          view.sdd, view.sid));
  }
}

namespace {

void check_cylinder(const Grid& projections, const Geometry& geometry, const std::string& name) {
  const double radius = geometry.radius_cylindrical_detector;
  if (geometry.parallel())
    throw InputError(
        fmt::format("{}: the detector is a cylinder of radius {} mm, but the beam is parallel; give the distance from "
                    "source to detector, or leave the radius out",
                    name, radius));
  for (const View& view : geometry.views)
    for (const double column : {0.0, static_cast<double>(projections.size[0]) - 1}) {
      const double u = projections.origin[0] + projections.direction[0] * projections.spacing[0] * column;
      const double angle = (u + view.projection_offset_x) / radius;
      // beyond a right angle the arc turns back; near the source's plane a flat detector has no end
      if (std::abs(angle) >= pi / 2 || view.sdd - radius * (1 - std::cos(angle)) < 0.1 * view.sdd)
        throw InputError(fmt::format(
            "{}: the cylindrical detector of radius {} mm bends by {:.4g} degrees round the source; what is seen must "
            "fit on a plane, so give the radius and the pixels in mm",
            name, radius, std::abs(angle) * 180 / pi));
    }
}

}  // namespace

void check_projections(const Grid& projections, const std::string& projections_name, const Geometry& geometry,
                       const std::string& geometry_name, DetectorShape shape) {
  check_grid(projections, projections_name);
  check_geometry(geometry, geometry_name);
  if (projections.size[2] != geometry.views.size())
    throw InputError(fmt::format("{} holds {}, but {} describes {}; give the geometry of this scan", projections_name,
                                 views_text(projections.size[2]), geometry_name, geometry.views.size()));
  if (geometry.radius_cylindrical_detector != 0 && shape == DetectorShape::flat)
    throw InputError(
        fmt::format("{}: the detector is a cylinder of radius {} mm; only flat detectors are handled, so "
                    "resample the projections onto a plane first",
                    geometry_name, geometry.radius_cylindrical_detector));
  if (geometry.radius_cylindrical_detector != 0) check_cylinder(projections, geometry, geometry_name);
  const auto& d = projections.direction;
  if (std::max({std::abs(d[2]), std::abs(d[5]), std::abs(d[6]), std::abs(d[7])}) > 1e-4)
    throw InputError(
        fmt::format("{}: the direction matrix mixes the detector's axes with the view axis; the axes must be "
                    "(u, v, view)",
                    projections_name));
  if (geometry.fan_stack() && std::max(std::abs(d[1]), std::abs(d[3])) > 1e-6)
    throw InputError(
        fmt::format("{}: the direction matrix turns the images in their plane, but rows of a stack of fans stay in "
                    "their planes; resample the projections along u and v",
                    projections_name));
  require_open_jaws(projections, geometry, geometry_name);
}

namespace {

/// The distinct angles modulo a period, sorted, and which of them each view has.
struct DistinctAngles {
  std::vector<double> angles;
  std::vector<int> members;
  std::vector<std::size_t> of_view;
};

DistinctAngles distinct_angles(const Geometry& geometry, double period) {
  constexpr double same = 1e-6;  // rad; float32 degrees near 360 are this coarse
  const std::size_t count = geometry.views.size();
  std::vector<std::pair<double, std::size_t>> sorted(count);
  for (std::size_t n = 0; n < count; ++n) {
    double angle = std::fmod(source_orbit(geometry.views[n]).angle, period);
    if (angle < 0) angle += period;
    if (angle >= period) angle = 0;  // a tiny negative angle rounds up to the period
    sorted[n] = {angle, n};
  }
  std::sort(sorted.begin(), sorted.end());
  DistinctAngles out;
  out.of_view.resize(count);
  for (const auto& [angle, view] : sorted) {
    if (out.angles.empty() || angle - out.angles.back() > same) {
      out.angles.push_back(angle);
      out.members.push_back(0);
    }
    ++out.members.back();
    out.of_view[view] = out.angles.size() - 1;
  }
  if (out.angles.size() > 1 && out.angles.front() + period - out.angles.back() <= same) {  // 359.9999999 and 0
    out.members.front() += out.members.back();
    for (auto& group : out.of_view)
      if (group == out.angles.size() - 1) group = 0;
    out.angles.pop_back();
    out.members.pop_back();
  }
  return out;
}

bool is_disordered(const DistinctAngles& distinct) {
  const std::size_t groups = distinct.angles.size();
  bool increasing = true, decreasing = true;
  for (std::size_t n = 1; n < distinct.of_view.size(); ++n) {
    const std::size_t a = distinct.of_view[n - 1], b = distinct.of_view[n];
    if (a == b) continue;
    increasing = increasing && b == (a + 1) % groups;
    decreasing = decreasing && a == (b + 1) % groups;
  }
  return !increasing && !decreasing;
}

}  // namespace

AngularCoverage angular_coverage(const Geometry& geometry, bool allow_incomplete_arc, bool whole_turn) {
  check_geometry(geometry, "the geometry");
  const bool parallel = geometry.parallel() && !whole_turn;  // opposite views are one
  const double period = parallel ? pi : 2 * pi;
  const double widest = 20 * pi / 180 + 1e-9;

  AngularCoverage out;
  const DistinctAngles turn = distinct_angles(geometry, 2 * pi);
  out.repeated_views = static_cast<int>(geometry.views.size() - turn.angles.size());
  out.disordered = is_disordered(turn);

  const DistinctAngles distinct = parallel ? distinct_angles(geometry, period) : turn;
  const std::size_t groups = distinct.angles.size();
  std::vector<double> gap(groups);  // from each distinct angle to the next on the circle
  for (std::size_t n = 0; n + 1 < groups; ++n) gap[n] = distinct.angles[n + 1] - distinct.angles[n];
  gap[groups - 1] = distinct.angles.front() + period - distinct.angles.back();
  const std::size_t at_largest = static_cast<std::size_t>(std::max_element(gap.begin(), gap.end()) - gap.begin());
  out.largest_gap = gap[at_largest];
  std::vector<double> sorted = gap;
  std::sort(sorted.begin(), sorted.end());
  const double median = 0.5 * (sorted[(groups - 1) / 2] + sorted[groups / 2]);

  if (parallel && out.largest_gap > widest && !allow_incomplete_arc)
    throw InputError(
        fmt::format("the geometry leaves a gap of {:.4g} degrees after gantry angle {:.6g} (modulo 180, as "
                    "opposite views of a parallel beam see the same rays); at most 20 degrees can be filled, "
                    "so give the views that are missing, or `allow_incomplete_arc` to go on without",
                    out.largest_gap * 180 / pi, distinct.angles[at_largest] * 180 / pi));

  const double missing = parallel ? widest : std::max(widest, 3 * median);
  for (const double each : gap) out.missing_arcs += each > missing ? 1 : 0;
  out.missing_inside = std::max(0, parallel ? out.missing_arcs : out.missing_arcs - 1);
  out.full_circle = out.missing_arcs == 0;
  out.inner_gap = sorted[groups > 1 && !out.full_circle ? groups - 2 : groups - 1];
  out.range = out.full_circle ? period : period - out.largest_gap;
  const std::size_t first = out.full_circle ? 0 : (at_largest + 1) % groups;
  out.first_angle = distinct.angles[first];
  if (!out.full_circle) gap[at_largest] = 0;

  std::vector<double> weight(groups), beta(groups);
  for (std::size_t n = 0; n < groups; ++n) {
    weight[n] = 0.5 * (gap[(n + groups - 1) % groups] + gap[n]) / distinct.members[n];
    beta[n] = distinct.angles[n] - out.first_angle + (n < first ? period : 0);
  }
  out.gaps.reserve(geometry.views.size());
  out.betas.reserve(geometry.views.size());
  for (const std::size_t group : distinct.of_view) {
    out.gaps.push_back(weight[group]);
    out.betas.push_back(beta[group]);
  }
  return out;
}

}  // namespace halocline
