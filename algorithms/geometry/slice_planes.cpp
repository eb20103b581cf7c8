#include "algorithms/geometry/slice_planes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/support/vector3.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

Vector3 axis_of(const Grid& grid, int axis) {
  const auto& d = grid.direction;
  return {d[axis], d[3 + axis], d[6 + axis]};
}

void set_axis(Grid& grid, int axis, const Vector3& direction) {
  for (int row = 0; row < 3; ++row) grid.direction[3 * row + axis] = direction[row];
}

Vector3 index_inside(const Grid& volume, const Vector3& position) {
  const Vector3 index = volume.index(position[0], position[1], position[2]);
  for (int axis = 0; axis < 3; ++axis)
    if (!(index[axis] >= -0.5 && index[axis] <= static_cast<double>(volume.size[axis]) - 0.5))
      throw InputError(
          fmt::format("the position {:.6g}, {:.6g}, {:.6g} mm (`position`) lies outside of the volume: its index along "
                      "axis {} is {:.6g}, but the {} voxels there span -0.5 to {:.6g}",
                      position[0], position[1], position[2], "ijk"[axis], index[axis], volume.size[axis],
                      static_cast<double>(volume.size[axis]) - 0.5));
  return index;
}

}  // namespace

Vector3 centre_of(const Grid& volume) {
  Vector3 index;
  for (int axis = 0; axis < 3; ++axis) index[axis] = 0.5 * (static_cast<double>(volume.size[axis]) - 1);
  return volume.world(index[0], index[1], index[2]);
}

Grid plane_across(const Grid& volume, int axis, const Vector3& position) {
  const Vector3 index = index_inside(volume, position);
  Vector3 first{};
  first[axis] = index[axis];
  Grid plane;
  const int axes[] = {axis == 0 ? 1 : 0, axis == 2 ? 1 : 2, axis};
  for (int n = 0; n < 3; ++n) {
    plane.size[n] = n == 2 ? 1 : volume.size[axes[n]];
    plane.spacing[n] = volume.spacing[axes[n]];
    set_axis(plane, n, axis_of(volume, axes[n]));
  }
  plane.origin = volume.world(first[0], first[1], first[2]);
  return plane;
}

Grid oblique_plane(const Grid& volume, const Vector3& position, const Vector3& normal) {
  index_inside(volume, position);
  const double size = length(normal);
  if (!(size > 0) || !std::isfinite(size))
    throw InputError(
        fmt::format("the direction {}, {}, {} (`normal`) is none: expected three finite numbers that are not all 0",
                    normal[0], normal[1], normal[2]));
  constexpr double least_sine = 1e-6;
  const Vector3 n = scaled(1 / size, normal), k = axis_of(volume, 2);
  Vector3 across = cross(k, n);
  if (length(across) < least_sine) {  // axis k, unless it is too close to i: then the rest of i
    const Vector3 i = axis_of(volume, 0);
    across = add_scaled(i, -dot(i, n), n);
  }
  across = scaled(1 / length(across), across);
  const Vector3 along = cross(n, across);
  Grid plane;
  const double pixel = *std::min_element(volume.spacing.begin(), volume.spacing.end());
  plane.spacing = {pixel, pixel, pixel};
  const Vector3 axes[] = {across, along, n}, centre = centre_of(volume);
  for (int axis = 0; axis < 3; ++axis) set_axis(plane, axis, axes[axis]);
  // the volume's centre, moved along the normal into the plane
  plane.origin = add_scaled(centre, dot(position, n) - dot(centre, n), n);
  plane.size[2] = 1;
  for (int axis = 0; axis < 2; ++axis) {
    double extent = 0;  // extent of the volume's shadow, mm
    for (int each = 0; each < 3; ++each)
      extent += std::abs(dot(axes[axis], axis_of(volume, each))) * static_cast<double>(volume.size[each]) *
                volume.spacing[each];
    plane.size[axis] = static_cast<std::size_t>(std::ceil(extent / pixel - 1e-6));
    plane.origin = add_scaled(plane.origin, -0.5 * (static_cast<double>(plane.size[axis]) - 1) * pixel, axes[axis]);
  }
  return plane;
}

}  // namespace halocline
