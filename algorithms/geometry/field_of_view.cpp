#include "algorithms/geometry/field_of_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/geometry/geometry_decompose.hpp"
#include "algorithms/support/vector3.hpp"

namespace halocline {
namespace {

struct Extent {
  double u[2], v[2];  // outer edges, mm
};

Extent extent_of(const DetectorPixels& detector) {
  const Grid grid = detector.grid(1);
  Extent extent{};
  for (int axis = 0; axis < 2; ++axis) {
    double* edge = axis == 0 ? extent.u : extent.v;
    edge[0] = grid.origin[axis] - 0.5 * grid.spacing[axis];
    edge[1] = edge[0] + static_cast<double>(grid.size[axis]) * grid.spacing[axis];
  }
  return extent;
}

/// A half-space n.x <= c with a unit normal.
struct HalfSpace {
  Vector3 n;
  double c;
};

/// Half-space on the detector's side of the plane through the source (or along the rays) and the detector's line
/// through `point` along `line`; `inside` is the direction across that line into the detector.
HalfSpace half_space(const Placement& p, const Vector3& point, const Vector3& line, const Vector3& inside) {
  const Vector3 ray = p.parallel ? p.source : add_scaled(point, -1, p.source);
  Vector3 n = cross(ray, line);
  n = scaled((dot(n, inside) > 0 ? -1 : 1) / length(n), n);
  return {n, dot(n, point)};
}

}  // namespace

FieldOfView field_of_view(const Geometry& geometry, const DetectorPixels& detector) {
  const Extent extent = extent_of(detector);
  const double infinity = std::numeric_limits<double>::infinity();
  double radius = infinity, displaced = infinity;
  struct Level {  // an upper or lower bound of y at distance r from the axis: at_axis -/+ slope r
    double at_axis, slope;
    bool upper;
  };
  std::vector<Level> levels;
  for (const View& view : geometry.views) {
    const Placement p = placement_of(view);
    const auto at = [&](double u, double v) { return detector_point(view, u, v); };
    double side[2];
    for (int n = 0; n < 2; ++n) {
      const HalfSpace h = half_space(p, at(extent.u[n], 0), p.v, scaled(n == 0 ? 1 : -1, p.u));
      side[n] = h.c / std::hypot(h.n[0], h.n[2]);  // in the plane y = 0
    }
    radius = std::min({radius, side[0], side[1]});
    displaced = std::min(displaced, std::max(side[0], side[1]));
    for (int n = 0; n < 2 && view.fan_stack; ++n) {  // level planes
      const Vector3 edge = at(0, extent.v[n]);
      levels.push_back({edge[1], 0, (edge[1] > at(0, extent.v[1 - n])[1])});
    }
    for (int n = 0; n < 2 && !view.fan_stack; ++n) {
      const HalfSpace h = half_space(p, at(0, extent.v[n]), p.u, scaled(n == 0 ? 1 : -1, p.v));
      levels.push_back({h.c / h.n[1], std::hypot(h.n[0], h.n[2]) / std::abs(h.n[1]), h.n[1] > 0});
    }
  }
  FieldOfView out;
  out.radius = radius;
  out.displaced_radius = radius > 0 ? displaced : radius;
  const double r = std::max(0.0, radius);
  out.low = -infinity;
  out.high = infinity;
  for (const Level& level : levels) {
    if (level.upper)
      out.high = std::min(out.high, level.at_axis - level.slope * r);
    else
      out.low = std::max(out.low, level.at_axis + level.slope * r);
  }
  return out;
}

Coverage volume_coverage(const Geometry& geometry, const DetectorPixels& detector, const Grid& volume) {
  const Extent extent = extent_of(detector);
  const std::size_t step = (geometry.views.size() + 179) / 180;
  std::vector<Matrix34> matrices;
  for (std::size_t n = 0; n < geometry.views.size(); n += step)
    matrices.push_back(projection_matrix(geometry.views[n]));
  std::array<std::size_t, 3> samples;
  for (int axis = 0; axis < 3; ++axis) samples[axis] = std::min<std::size_t>(volume.size[axis], 24);
  // the centres of `samples` equal parts of the volume's extent, which begins half a voxel before index 0
  const auto index = [&](int axis, std::size_t n) {
    return (static_cast<double>(n) + 0.5) * static_cast<double>(volume.size[axis]) /
               static_cast<double>(samples[axis]) -
           0.5;
  };
  std::size_t every = 0, half = 0;
  for (std::size_t k = 0; k < samples[2]; ++k)
    for (std::size_t j = 0; j < samples[1]; ++j)
      for (std::size_t i = 0; i < samples[0]; ++i) {
        const auto x = volume.world(index(0, i), index(1, j), index(2, k));
        std::size_t seen = 0;
        for (const Matrix34& m : matrices) {
          const auto row = [&](int n) {
            return m[4 * n] * x[0] + m[4 * n + 1] * x[1] + m[4 * n + 2] * x[2] + m[4 * n + 3];
          };
          const double w = row(2), u = row(0) / w, v = geometry.fan_stack() ? row(1) : row(1) / w;
          const bool in_front = geometry.parallel() || w < 0;
          seen += in_front && u >= extent.u[0] && u <= extent.u[1] && v >= extent.v[0] && v <= extent.v[1];
        }
        every += seen == matrices.size();
        half += 2 * seen >= matrices.size();
      }
  const double total = static_cast<double>(samples[0] * samples[1] * samples[2]);
  return {static_cast<double>(every) / total, static_cast<double>(half) / total};
}

}  // namespace halocline
