#include "algorithms/projectors/float64_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "algorithms/support/vector3.hpp"

namespace halocline {
namespace {

using std::numbers::pi;

Vector3 from_centre(const Grid& volume, const Vector3& index) {
  Vector3 result;
  for (int axis = 0; axis < 3; ++axis) result[axis] = index[axis] - 0.5 * (static_cast<double>(volume.size[axis]) - 1);
  return result;
}

struct Seen {
  double u, v, w;  // pixels; w as index_to_detector() has it
};
Seen seen(const View& view, const Matrix34& m, const Vector3& x) {
  const auto row = [&](int r) { return m[r] * x[0] + m[r + 1] * x[1] + m[r + 2] * x[2] + m[r + 3]; };
  const double w = row(8);
  return {row(0) / w, view.fan_stack ? row(4) : row(4) / w, w};
}

// Bilinear between pixels, zero where there is none; a single row is as high as its pixels.
template <class Pixel>
double interpolated(const Grid& stack, double u, double v, Pixel&& pixel) {
  if (stack.size[1] == 1) v = std::abs(v) <= 0.5 ? 0 : -1;
  double sum = 0;
  const double columns = static_cast<double>(stack.size[0]), rows = static_cast<double>(stack.size[1]);
  for (const double r : {std::floor(v), std::floor(v) + 1})
    for (const double c : {std::floor(u), std::floor(u) + 1})
      if (c >= 0 && c < columns && r >= 0 && r < rows)
        sum += (1 - std::abs(u - c)) * (1 - std::abs(v - r)) *
               pixel(static_cast<std::size_t>(c), static_cast<std::size_t>(r));
  return sum;
}

// A ray in voxel indices, a step of 1 being a mm, and what its pixel casts on the planes across the axis that it
// follows.
struct IndexRay {
  Vector3 start, step;
};
struct PixelRays {
  IndexRay centre;
  bool within_slice = false;      // of a volume of one, seen by one row: as cl/distance_driven.cl
  std::array<IndexRay, 4> sides;  // left, right, below, above: distance-driven only
  int axis = 0;
};

IndexRay index_ray(const ViewRays& rays, const ExactScan& scan, double column, double row) {
  const auto& d = scan.stack.direction;
  const double a = column * scan.stack.spacing[0], b = row * scan.stack.spacing[1];
  const Ray ray = rays.to(scan.stack.origin[0] + d[0] * a + d[1] * b, scan.stack.origin[1] + d[3] * a + d[4] * b);
  const auto index = [&](const Vector3& x) { return scan.volume.index(x[0], x[1], x[2]); };
  IndexRay result{index(ray.origin), {}};
  result.step = add_scaled(index(add_scaled(ray.origin, 1, ray.direction)), -1, result.start);
  return result;
}

PixelRays pixel_rays(const ViewRays& rays, const ExactScan& scan, Projector projector, double column, double row) {
  PixelRays result;
  result.centre = index_ray(rays, scan, column, row);
  if (projector == Projector::distance_driven) {
    constexpr double sides[4][2] = {{-0.5, 0}, {0.5, 0}, {0, -0.5}, {0, 0.5}};
    result.within_slice = scan.stack.size[1] == 1 && scan.volume.size[2] == 1 &&
                          std::abs(result.centre.step[2]) < 1e-9 && std::abs(result.centre.start[2]) <= 0.5;
    for (int n = 0; n < 4; ++n) result.sides[n] = index_ray(rays, scan, column + sides[n][0], row + sides[n][1]);
  }
  const Vector3& step = result.centre.step;
  for (int axis = 1; axis < 3; ++axis)
    if (std::abs(step[axis]) > std::abs(step[result.axis])) result.axis = axis;
  return result;
}

// Point where a ray meets plane `m` across the axis, on the two other axes, and the width of the pixel there (1 but for
// distance-driven).
struct OnPlane {
  std::array<double, 2> at, width;
};
OnPlane on_plane(const PixelRays& rays, Projector projector, double m) {
  const int a = rays.axis, others[] = {(a + 1) % 3, (a + 2) % 3};
  const auto at = [&](const IndexRay& ray, int axis) {
    return ray.start[axis] + (m - ray.start[a]) / ray.step[a] * ray.step[axis];
  };
  OnPlane result{{}, {1, 1}};
  for (int n = 0; n < 2; ++n) {
    result.at[n] = at(rays.centre, others[n]);
    if (projector == Projector::distance_driven) {
      const auto apart = [&](int one, int other) {
        return std::abs(at(rays.sides[one], others[n]) - at(rays.sides[other], others[n]));
      };
      result.width[n] = std::max(1.0 / 64, apart(0, 1) + apart(2, 3));  // as cl/distance_driven.cl
      if (rays.within_slice && others[n] == 2) result.at[n] = 0, result.width[n] = 1;
    }
  }
  return result;
}

// The share that a voxel has of a ray along one axis, if the ray runs in a face between voxels across it, else -1: half
// for the voxels on either side, as cl/siddon_faces.clh.
double share_of_face(const IndexRay& ray, const Grid& volume, int axis, double voxel) {
  const Vector3 middle = from_centre(volume, ray.start);
  const double t = -dot(middle, ray.step) / dot(ray.step, ray.step), at = ray.start[axis] + t * ray.step[axis] + 0.5,
               face = std::round(at), count = static_cast<double>(volume.size[axis]);
  double square = 0;
  for (const std::size_t size : volume.size) square += static_cast<double>(size) * static_cast<double>(size);
  const double away = std::abs(ray.step[axis]) * 0.5 * std::sqrt(square) / length(ray.step);
  if (std::abs(at - face) + away >= 1e-3 || face < 0 || face > count) return -1;
  return voxel == face || voxel == face - 1 ? 0.5 : 0;
}

// mm of a ray in a voxel.
double length_in(const IndexRay& ray, const Grid& volume, const Vector3& voxel) {
  double in = -INFINITY, out = INFINITY, share = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (const double part = share_of_face(ray, volume, axis, voxel[axis]); part >= 0) {
      share *= part;
      continue;
    }
    const double low = voxel[axis] - 0.5 - ray.start[axis];
    if (ray.step[axis] == 0) {
      if (low > 0 || low + 1 <= 0) return 0;
      continue;
    }
    const double a = low / ray.step[axis], b = (low + 1) / ray.step[axis];
    in = std::max(in, std::min(a, b));
    out = std::min(out, std::max(a, b));
  }
  return share * std::max(0.0, out - in);
}

// `on` is the plane of the voxel.
double weight_of(const PixelRays& rays, const Grid& volume, Projector projector, const OnPlane& on,
                 const Vector3& voxel) {
  if (projector == Projector::siddon) return length_in(rays.centre, volume, voxel);
  double weight = 1 / std::abs(rays.centre.step[rays.axis]);
  for (int n = 0; n < 2; ++n) {
    const double at = on.at[n], width = on.width[n], centre = voxel[(rays.axis + 1 + n) % 3];
    weight *=
        projector == Projector::joseph
            ? std::max(0.0, 1 - std::abs(at - centre))
            : std::max(0.0, std::min(at + width / 2, centre + 0.5) - std::max(at - width / 2, centre - 0.5)) / width;
  }
  return weight;
}

// Largest distance along each axis from the centres of voxels to the rays near to these that meet them.
Vector3 reach_of(PixelRays rays, Projector projector, const Vector3& at) {
  Vector3 reach{1, 1, 1};
  const double main = std::abs(rays.centre.step[rays.axis]);
  for (int axis = 0; axis < 3 && projector == Projector::distance_driven; ++axis) {
    if (std::abs(rays.centre.step[axis]) < 0.9 * main) continue;  // no ray beside follows it
    rays.axis = axis;
    const OnPlane on = on_plane(rays, projector, at[axis]);
    for (int n = 0; n < 2; ++n) {
      double& other = reach[(axis + 1 + n) % 3];
      other = std::max(other, 0.5 + 0.6 * on.width[n]);  // a fifth more than here
    }
  }
  return reach;
}

// Whole numbers [first, last] within `reach` of `at` and in [0, size).
struct Whole {
  std::int64_t first, last;
};
Whole within(double at, double reach, std::size_t size) {
  const double end = static_cast<double>(size);
  return {static_cast<std::int64_t>(std::clamp(std::ceil(at - reach), 0.0, end)),
          static_cast<std::int64_t>(std::clamp(std::floor(at + reach), -1.0, end - 1))};
}

}  // namespace

double exact_backprojection(const ExactScan& scan, const std::array<double, 3>& point, const ValueAt& value) {
  const Vector3 x = from_centre(scan.volume, point);
  double sum = 0;
  for (std::size_t n = 0; n < scan.geometry.views.size(); ++n) {
    const View& view = scan.geometry.views[n];
    const auto [u, v, w] = seen(view, index_to_detector(view, scan.volume, scan.stack), x);
    if (w <= 0) continue;
    sum += interpolated(scan.stack, u, v, [&](std::size_t column, std::size_t row) { return value(column, row, n); }) *
           (view.parallel() ? 1 : 1 / (w * w));
  }
  return sum;
}

double exact_fdk(const ExactScan& scan, const std::array<double, 3>& point, const ValueAt& value) {
  const auto gaps = angular_coverage(scan.geometry).gaps;
  const Grid& stack = scan.stack;
  const std::size_t columns = stack.size[0];
  std::vector<double> kernel(columns, 0.0), weighted(columns);  // Kak & Slaney 1988, eq. 3.61
  kernel[0] = 0.25;
  for (std::size_t n = 1; n < columns; n += 2) kernel[n] = -1 / (pi * pi * static_cast<double>(n * n));
  const Vector3 x = from_centre(scan.volume, point);
  double sum = 0;
  for (std::size_t n = 0; n < scan.geometry.views.size(); ++n) {
    const View& view = scan.geometry.views[n];
    const auto [u, v, w] = seen(view, index_to_detector(view, scan.volume, stack), x);
    if (w <= 0) continue;
    std::size_t held = stack.size[1];  // the row that `weighted` is of: none yet
    const double filtered = interpolated(stack, u, v, [&](std::size_t column, std::size_t row) {
      for (std::size_t c = 0; c < columns && held != row; ++c) {
        const double across = stack.origin[0] + static_cast<double>(c) * stack.spacing[0] + view.projection_offset_x -
                              view.source_offset_x,
                     along = view.fan_stack ? 0
                                            : stack.origin[1] + static_cast<double>(row) * stack.spacing[1] +
                                                  view.projection_offset_y - view.source_offset_y;
        weighted[c] = value(c, row, n) * (view.parallel() ? 1 : view.sdd / std::hypot(view.sdd, across, along));
      }
      held = row;
      double result = 0;
      for (std::size_t c = 0; c < columns; ++c) result += weighted[c] * kernel[c > column ? c - column : column - c];
      return result;
    });
    sum += filtered * gaps[n] / stack.spacing[0] * (view.parallel() ? 1 : 0.5 * view.sdd / view.sid / (w * w));
  }
  return sum;
}

ExactSum exact_projection(const ExactScan& scan, Projector projector, const Index3& pixel, const ValueAt& value) {
  const ViewRays view(scan.geometry.views[pixel[2]]);
  const PixelRays rays =
      pixel_rays(view, scan, projector, static_cast<double>(pixel[0]), static_cast<double>(pixel[1]));
  const int a = rays.axis, b = (a + 1) % 3, c = (a + 2) % 3;
  const auto& size = scan.volume.size;
  ExactSum sum;
  Index3 n;
  for (n[a] = 0; n[a] < size[a]; ++n[a]) {
    const OnPlane on = on_plane(rays, projector, static_cast<double>(n[a]));
    // from a plane's middle to its edge a ray that follows `a` moves half a voxel at most
    const Whole across = within(on.at[0], 0.5 + 0.5 * on.width[0], size[b]),
                along = within(on.at[1], 0.5 + 0.5 * on.width[1], size[c]);
    for (std::int64_t v = along.first; v <= along.last; ++v)
      for (std::int64_t u = across.first; u <= across.last; ++u) {
        n[b] = static_cast<std::size_t>(u);
        n[c] = static_cast<std::size_t>(v);
        const double weight =
            weight_of(rays, scan.volume, projector, on,
                      {static_cast<double>(n[0]), static_cast<double>(n[1]), static_cast<double>(n[2])});
        if (weight <= 0) continue;
        sum.value += weight * value(n[0], n[1], n[2]);
        ++sum.terms;
      }
  }
  return sum;
}

ExactSum exact_adjoint(const ExactScan& scan, Projector projector, const Index3& voxel, const ValueAt& value) {
  const Vector3 at{static_cast<double>(voxel[0]), static_cast<double>(voxel[1]), static_cast<double>(voxel[2])};
  const Vector3 x = from_centre(scan.volume, at);
  const bool stack = scan.geometry.fan_stack();
  ExactSum sum;
  for (std::size_t n = 0; n < scan.geometry.views.size(); ++n) {
    const ViewRays view(scan.geometry.views[n]);
    const Matrix34 m = index_to_detector(scan.geometry.views[n], scan.volume, scan.stack);
    const auto [u, v, w] = seen(scan.geometry.views[n], m, x);
    const Vector3 reach = reach_of(pixel_rays(view, scan, projector, u, v), projector, at);
    double half_u = 0, half_v = 0, least = w;  // of the box's shadow: see shadow() in cl/gather.clh
    for (int axis = 0; axis < 3; ++axis) {
      half_u += reach[axis] * std::abs(m[axis] - u * m[8 + axis]);
      half_v += reach[axis] * std::abs(stack ? m[4 + axis] : m[4 + axis] - v * m[8 + axis]);
      least -= reach[axis] * std::abs(m[8 + axis]);
    }
    const Whole columns = within(u, half_u / least, scan.stack.size[0]),
                rows = within(v, stack ? half_v : half_v / least, scan.stack.size[1]);
    for (std::int64_t row = rows.first; row <= rows.last; ++row)
      for (std::int64_t column = columns.first; column <= columns.last; ++column) {
        const PixelRays rays = pixel_rays(view, scan, projector, static_cast<double>(column), static_cast<double>(row));
        const double weight = weight_of(rays, scan.volume, projector, on_plane(rays, projector, at[rays.axis]), at);
        if (weight <= 0) continue;
        sum.value += weight * value(static_cast<std::size_t>(column), static_cast<std::size_t>(row), n);
        ++sum.terms;
      }
  }
  return sum;
}

}  // namespace halocline
