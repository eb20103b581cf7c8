#include "algorithms/geometry/geometry_decompose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "algorithms/support/angles.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// Files with seven digits are that exact; what is left out by orthonormalising then moves a point of a 4000-pixel
// detector by less than 0.01 pixels.
constexpr double tolerance = 1e-6;
constexpr double parallel_sid = 1000;

struct Axes {
  Vector3 u, v, to_source;  // orthonormal, right-handed
};

[[noreturn]] void fail(const std::string& name, const std::string& text) {
  throw InputError(name + ": " + text);
}

// Lengths and products of numbers up to this are finite.
constexpr double largest_number = 1e100;

void require_finite(const Vector3& a, const std::string& name) {
  for (const double number : a)
    if (!(std::abs(number) <= largest_number))
      fail(name, fmt::format("a number is {:.9g}; every number must be finite, and no larger than {:.0e}", number,
                             largest_number));
}

/// The angles of the rotation with rows u, v, to_source.
void set_angles(View& view, const Axes& axes) {
  const double upright = std::hypot(axes.to_source[0], axes.to_source[2]);  // cos(out of plane)
  view.out_of_plane_angle = std::atan2(-axes.to_source[1], upright) / degree;
  if (upright > 1e-12) {
    view.gantry_angle = std::atan2(axes.to_source[0], axes.to_source[2]) / degree;
    view.in_plane_angle = std::atan2(axes.u[1], axes.v[1]) / degree;
  } else {  // seen along the axis: gantry and in-plane angle turn about the same line, and one of them is enough
    view.in_plane_angle = 0;
    view.gantry_angle = std::atan2(-axes.u[2], axes.u[0]) / degree;
  }
  if (view.gantry_angle < 0) view.gantry_angle += 360;
}

/// Orthonormal axes from u and v, which must be perpendicular.
Axes axes_from(const Vector3& u, const Vector3& v, const std::string& name) {
  const double length_u = length(u), length_v = length(v);
  if (!(length_u > 0) || !(length_v > 0)) fail(name, "an axis of the detector has no length; the numbers are singular");
  const double cosine = dot(u, v) / (length_u * length_v);
  if (std::abs(cosine) > tolerance)
    fail(name, fmt::format("the detector's axes stand at {:.9g} degrees to each other, not at right angles; no "
                           "geometry of RTK's nine parameters has a skewed detector, so resample the projections "
                           "onto perpendicular axes",
                           std::acos(std::clamp(cosine, -1.0, 1.0)) / degree));
  Axes axes;
  axes.u = scaled(1 / length_u, u);
  axes.v = add_scaled(v, -dot(v, axes.u), axes.u);
  axes.v = scaled(1 / length(axes.v), axes.v);
  axes.to_source = cross(axes.u, axes.v);
  return axes;
}

constexpr const char* mirrored =
    "the detector is mirrored (or the isocentre lies behind the source): seen from the source, v is not 90 degrees "
    "counter-clockwise from u; flip the images along one axis, and negate that axis here";

}  // namespace

View view_from_placement(const Placement& p, const std::string& name) {
  for (const auto* vector : {&p.source, &p.detector, &p.u, &p.v}) require_finite(*vector, name);
  const Axes axes = axes_from(p.u, p.v, name);
  View view;
  view.projection_offset_x = dot(axes.u, p.detector);
  view.projection_offset_y = dot(axes.v, p.detector);
  set_angles(view, axes);
  if (p.parallel) {
    const double along = dot(p.source, axes.to_source) / length(p.source);
    if (!(std::hypot(dot(p.source, axes.u), dot(p.source, axes.v)) <= tolerance * length(p.source)))
      fail(name, fmt::format("the rays of the parallel beam meet the detector at {:.9g} degrees to its normal; no "
                             "geometry of RTK's nine parameters has oblique rays, so resample the projections onto "
                             "a plane across them",
                             std::acos(std::clamp(std::abs(along), 0.0, 1.0)) / degree));
    if (along > 0) fail(name, mirrored);
    view.sdd = 0;
    const double depth = -dot(axes.to_source, p.detector);
    view.sid = depth > 0 ? depth : parallel_sid;
    return view;
  }
  view.sid = dot(axes.to_source, p.source);
  view.sdd = dot(axes.to_source, add_scaled(p.source, -1, p.detector));
  view.source_offset_x = dot(axes.u, p.source);
  view.source_offset_y = dot(axes.v, p.source);
  if (!(view.sdd > 0)) fail(name, mirrored);
  if (!(view.sid > 0) || view.sid > view.sdd * (1 + tolerance))
    fail(name, fmt::format("the isocentre is not between source and detector: they are {:.9g} mm apart, and the "
                           "source is {:.9g} mm in front of it; the rotation axis must pass between them",
                           view.sdd, view.sid));
  return view;
}

Placement placement_of(const View& view) {
  Placement p;
  p.parallel = view.parallel();
  p.detector = detector_point(view, 0, 0);
  View square = view;  // the axes as differences of points near the isocentre, without the loss of far offsets
  square.sid = square.sdd = 1;
  square.projection_offset_x = square.projection_offset_y = 0;
  p.u = detector_point(square, 1, 0);
  p.v = detector_point(square, 0, 1);
  p.source = p.parallel ? ray_direction(view) : source_position(view);
  return p;
}

View view_from_matrix(const Matrix34& matrix, const std::string& name) {
  Vector3 a[3];
  double t[3];
  for (int row = 0; row < 3; ++row) {
    a[row] = {matrix[4 * row], matrix[4 * row + 1], matrix[4 * row + 2]};
    t[row] = matrix[4 * row + 3];
    require_finite(a[row], name);
    require_finite({t[row], 0, 0}, name);
  }
  View view;
  if (length(a[2]) <= 1e-12 * std::abs(t[2])) {
    const Vector3 u = scaled(1 / t[2], a[0]), v = scaled(1 / t[2], a[1]);
    if (std::abs(length(u) - 1) > tolerance || std::abs(length(v) - 1) > tolerance)
      fail(name, fmt::format("one mm across the parallel beam becomes {:.9g} along u and {:.9g} along v; 1 and 1 are "
                             "expected, so say with `detector.spacing` how large a pixel is, if that is the unit",
                             length(u), length(v)));
    set_angles(view, axes_from(u, v, name));
    view.sid = parallel_sid;
    view.projection_offset_x = -t[0] / t[2];
    view.projection_offset_y = -t[1] / t[2];
    return view;
  }
  const double weight = length(a[2]);
  if (!(weight > 0)) fail(name, "the third row is zero; the matrix is singular");
  const Vector3 to_source = scaled(1 / weight, a[2]);
  Vector3 axis[2];
  double shift[2], offset[2];
  for (int row = 0; row < 2; ++row) {
    offset[row] = t[row] / weight;
    const Vector3 scaled_row = scaled(1 / weight, a[row]);
    shift[row] = dot(scaled_row, to_source);  // source offset - projection offset
    axis[row] = scaled(-1, add_scaled(scaled_row, -shift[row], to_source));
  }
  double minus_sid = t[2] / weight;
  Axes axes = axes_from(axis[0], axis[1], name);
  const double scale_u = length(axis[0]), scale_v = length(axis[1]);
  if (std::abs(scale_u / scale_v - 1) > tolerance)
    fail(name, fmt::format(
                   "the source is {:.9g} units of u but {:.9g} units of v from the detector; no geometry of "
                   "RTK's nine parameters has different scales, so give both in mm, or say with `detector.spacing` how "
                   "wide and high a pixel is",
                   scale_u, scale_v));
  if (dot(axes.to_source, to_source) < 0) {
    // The matrix is only known up to a factor; with its sign turned, r3 and the offsets are those of a rotation.
    axes.u = scaled(-1, axes.u);
    axes.v = scaled(-1, axes.v);
    axes.to_source = cross(axes.u, axes.v);
    minus_sid = -minus_sid;
    offset[0] = -offset[0];
    offset[1] = -offset[1];
  }
  set_angles(view, axes);
  view.sid = -minus_sid;
  view.sdd = 0.5 * (scale_u + scale_v);
  if (!(view.sid > 0)) fail(name, mirrored);
  view.source_offset_x = (offset[0] + shift[0] * view.sid) / view.sdd;
  view.source_offset_y = (offset[1] + shift[1] * view.sid) / view.sdd;
  view.projection_offset_x = view.source_offset_x - shift[0];
  view.projection_offset_y = view.source_offset_y - shift[1];
  return view;
}

}  // namespace halocline
