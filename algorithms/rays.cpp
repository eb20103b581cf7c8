#include "algorithms/rays.hpp"

#include <algorithm>
#include <cmath>

namespace halocline {
namespace {

using Vector3 = std::array<double, 3>;

Vector3 minus(const Vector3& a, const Vector3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// World mm to volume indices about the volume's centre.
Vector3 centred_index(const Grid& volume, const Vector3& world) {
  Vector3 index = volume.index(world[0], world[1], world[2]);
  for (int axis = 0; axis < 3; ++axis) index[axis] -= 0.5 * (static_cast<double>(volume.size[axis]) - 1);
  return index;
}

/// The detector's physical (u, v) of a pixel index.
Vector3 pixel(const View& view, const Grid& volume, const Grid& projections, double column, double row) {
  const auto& d = projections.direction;
  const double a = column * projections.spacing[0], b = row * projections.spacing[1];
  const double u = projections.origin[0] + d[0] * a + d[1] * b, v = projections.origin[1] + d[3] * a + d[4] * b;
  return centred_index(volume, detector_point(view, u, v));
}

/// Direction and moment at the detector's centre and their steps a column and a row: what cl/rays.clh says.
using ViewVectors = std::array<Vector3, 6>;
ViewVectors vectors_of(const View& view, const Grid& volume, const Grid& projections) {
  const double column = 0.5 * (static_cast<double>(projections.size[0]) - 1),
               row = 0.5 * (static_cast<double>(projections.size[1]) - 1);
  const Vector3 centre = pixel(view, volume, projections, column, row);
  const Vector3 step_u = minus(pixel(view, volume, projections, column + 1, row), centre);
  const Vector3 step_v = minus(pixel(view, volume, projections, column, row + 1), centre);
  if (view.parallel()) {
    const Vector3 origin = volume.world(0, 0, 0), along = ray_direction(view);
    const Vector3 direction =
        minus(centred_index(volume, {origin[0] + along[0], origin[1] + along[1], origin[2] + along[2]}),
              centred_index(volume, origin));
    return {direction, cross(centre, direction), Vector3{}, cross(step_u, direction),
            Vector3{}, cross(step_v, direction)};
  }
  const Vector3 source = centred_index(volume, source_position(view));
  return {minus(centre, source), cross(source, centre), step_u, cross(source, step_u), step_v, cross(source, step_v)};
}

struct CentredRay {
  Vector3 direction, moment;
};
CentredRay ray_at(const ViewVectors& view, double u, double v) {
  CentredRay ray;
  for (int axis = 0; axis < 3; ++axis) {
    ray.direction[axis] = view[0][axis] + u * view[2][axis] + v * view[4][axis];
    ray.moment[axis] = view[1][axis] + u * view[3][axis] + v * view[5][axis];
  }
  return ray;
}

/// The bits of the axes that a ray of the view may follow. Direction components are affine over the detector, so one
/// axis beats another everywhere if it does so, with one sign, in all corners.
std::int32_t axes_of(const ViewVectors& view, double half_u, double half_v) {
  std::int32_t axes = 0;
  for (int axis = 0; axis < 3; ++axis) {
    bool beaten = false;
    for (int other = 0; other < 3; ++other)
      for (const double sign : {-1.0, 1.0}) {
        bool everywhere = other != axis;
        for (int corner = 0; corner < 4; ++corner) {
          const auto d = ray_at(view, corner & 1 ? half_u : -half_u, corner & 2 ? half_v : -half_v).direction;
          everywhere = everywhere && sign * d[other] * (1 - 1e-5) > std::abs(d[axis]);
        }
        beaten = beaten || everywhere;
      }
    if (!beaten) axes |= 1 << axis;
  }
  return axes;
}

/// Enlarges `widths` to what pixel (u, v) casts on the first and the last plane across the axis that its ray follows.
void enlarge(Vector3& widths, const ViewVectors& view, double u, double v, const Grid& volume) {
  const auto direction = ray_at(view, u, v).direction;
  int a = 0;
  for (int axis = 1; axis < 3; ++axis)
    if (std::abs(direction[axis]) > std::abs(direction[a])) a = axis;
  const int b = (a + 1) % 3, c = (a + 2) % 3;
  const double end = 0.5 * (static_cast<double>(volume.size[a]) - 1);
  for (const double p : {-end, end}) {
    const auto point = [&](double du, double dv) -> std::array<double, 2> {
      const auto ray = ray_at(view, u + du, v + dv);
      const auto &d = ray.direction, &m = ray.moment;
      return {(p * d[b] - m[c]) / d[a], (m[b] + p * d[c]) / d[a]};
    };
    const auto left = point(-0.5, 0), right = point(0.5, 0), below = point(0, -0.5), above = point(0, 0.5);
    widths[b] = std::max(widths[b], std::abs(right[0] - left[0]) + std::abs(above[0] - below[0]));
    widths[c] = std::max(widths[c], std::abs(right[1] - left[1]) + std::abs(above[1] - below[1]));
  }
}

}  // namespace

bool RayTable::any_follows(int axis) const {
  return std::any_of(axes.begin(), axes.end(), [&](std::int32_t each) { return (each >> axis & 1) != 0; });
}

int RayTable::axial_rows() const {
  for (const int axis : {2, 1}) {
    bool axial = !any_follows(axis);
    for (std::size_t view = 0; axial && view < axes.size(); ++view) {
      const float* step = &rays[18 * view + 12];  // of direction and moment, a row
      for (int other = 0; other < 3; ++other) axial = axial && (other == axis || step[other] == 0);
      axial = axial && step[3 + axis] == 0;
    }
    if (axial) return axis;
  }
  return 0;
}

RayTable make_rays(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  RayTable table;
  const double half_u = 0.5 * (static_cast<double>(projections.size[0]) - 1),
               half_v = 0.5 * (static_cast<double>(projections.size[1]) - 1);
  for (const View& each : geometry.views) {
    const ViewVectors view = vectors_of(each, volume, projections);
    for (const Vector3& vector : view)
      for (const double value : vector) table.rays.push_back(static_cast<float>(value));
    table.axes.push_back(axes_of(view, half_u, half_v));
    for (int n = 0; n < 81; ++n)
      enlarge(table.widths, view, half_u * (n % 9 - 4) / 4, half_v * (n / 9 - 4) / 4, volume);
  }
  for (double& width : table.widths) width *= 1.05;
  return table;
}

}  // namespace halocline
