#include "tests/reference/projector_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace halocline::reference {

std::array<double, 2> pixel_index(const Grid& projections, double u, double v) {
  const auto& d = projections.direction;
  const double a = u - projections.origin[0], b = v - projections.origin[1];
  return {(d[0] * a + d[3] * b) / projections.spacing[0], (d[1] * a + d[4] * b) / projections.spacing[1]};
}

namespace {

constexpr double pi = std::numbers::pi;

/// The inverse of pixel_index().
std::array<double, 2> pixel_position(const Grid& projections, double column, double row) {
  const auto& d = projections.direction;
  const double a = column * projections.spacing[0], b = row * projections.spacing[1];
  return {projections.origin[0] + d[0] * a + d[1] * b, projections.origin[1] + d[3] * a + d[4] * b};
}

/// mm from the source to the detector's point (u, v); a parallel beam's rays, and those that run through a virtual
/// detector, have no end.
double ray_length(const View& view, double radius, RayEnds ends, double u, double v) {
  if (view.parallel() || ends == RayEnds::through) return INFINITY;
  const auto [across, along] = ray_slopes(view, radius, u, v);
  const double bend = radius == 0 ? 0 : radius * (1 - std::cos((u + view.projection_offset_x) / radius));
  return (view.sdd - bend) * std::hypot(across, along, 1.0);
}

/// A ray in voxel indices for a unit vector in the world: a step of 1 is a mm. It ends after `length` mm, and starts
/// at 0 or nowhere.
struct IndexRay {
  std::array<double, 3> start, step;
  double from, length;
};
IndexRay index_ray(const View& view, double radius, RayEnds ends, const Grid& grid, const Grid& projections,
                   double column, double row) {
  const auto [u, v] = pixel_position(projections, column, row);
  const Ray ray = ViewRays(view, radius).to(u, v);
  IndexRay result;
  result.start = grid.index(ray.origin[0], ray.origin[1], ray.origin[2]);
  const auto next =
      grid.index(ray.origin[0] + ray.direction[0], ray.origin[1] + ray.direction[1], ray.origin[2] + ray.direction[2]);
  for (int axis = 0; axis < 3; ++axis) result.step[axis] = next[axis] - result.start[axis];
  result.from = view.parallel() ? -INFINITY : 0;
  result.length = ray_length(view, radius, ends, u, v);
  return result;
}

/// The part of [m - 1/2, m + 1/2] along axis a in which the ray runs.
double part_of_plane(const IndexRay& ray, int a, double m) {
  const double begin = ray.start[a] + ray.from * ray.step[a], end = ray.start[a] + ray.length * ray.step[a];
  return std::max(0.0, std::min(std::max(begin, end), m + 0.5) - std::max(std::min(begin, end), m - 0.5));
}

int main_axis(const IndexRay& ray) {
  int a = 0;
  for (int axis = 1; axis < 3; ++axis)
    if (std::abs(ray.step[axis]) > std::abs(ray.step[a])) a = axis;
  return a;
}

/// The two other coordinates, in cyclic order, on plane m across axis a.
std::array<double, 2> at_plane(const IndexRay& ray, int a, double m) {
  const double t = (m - ray.start[a]) / ray.step[a];
  const int b = (a + 1) % 3, c = (a + 2) % 3;
  return {ray.start[b] + t * ray.step[b], ray.start[c] + t * ray.step[c]};
}

double overlap(double at, double width, double voxel) {
  return std::max(0.0, std::min(at + width / 2, voxel + 0.5) - std::max(at - width / 2, voxel - 0.5));
}

/// Place where a plane is met along its two axes, and the extents of what is cast there.
struct OnPlane {
  std::array<double, 2> at, width;
};

/// meet(a, m) is on plane m of the axis a that the ray follows; the weight of one of its voxels is path times the
/// product of weight(at, width, voxel) over the two axes.
template <class Meet, class Weight>
void visit_planes(const IndexRay& ray, const Grid& grid, std::size_t number, const Visit& visit, Meet&& meet,
                  Weight&& weight) {
  const int a = main_axis(ray), b = (a + 1) % 3, c = (a + 2) % 3;
  const double path = 1 / std::abs(ray.step[a]);
  std::array<std::size_t, 3> n;
  for (n[a] = 0; n[a] < grid.size[a]; ++n[a]) {
    const double length = path * part_of_plane(ray, a, static_cast<double>(n[a]));
    if (length == 0) continue;
    const OnPlane on = meet(a, static_cast<double>(n[a]));
    std::array<std::size_t, 2> first, end;  // of the voxels that may have a weight
    for (int other = 0; other < 2; ++other) {
      const double size = static_cast<double>(grid.size[other == 0 ? b : c]), reach = 0.5 + 0.5 * on.width[other];
      first[other] = static_cast<std::size_t>(std::clamp(std::floor(on.at[other] - reach), 0.0, size));
      end[other] = static_cast<std::size_t>(std::clamp(std::floor(on.at[other] + reach) + 1, 0.0, size));
    }
    for (n[c] = first[1]; n[c] < end[1]; ++n[c]) {
      const double weight_c = weight(on.at[1], on.width[1], static_cast<double>(n[c]));
      for (n[b] = first[0]; weight_c > 0 && n[b] < end[0]; ++n[b]) {
        const double weight_b = weight(on.at[0], on.width[0], static_cast<double>(n[b]));
        if (weight_b > 0)
          visit(number, n[0] + grid.size[0] * (n[1] + grid.size[1] * n[2]), length * weight_b * weight_c);
      }
    }
  }
}

/// Interval of a ray in a voxel's box, in mm along it (in >= out: nowhere), and mm that a plane between voxels moves
/// along the ray with a voxel, for the planes that bound it there.
struct Chord {
  double in = -INFINITY, out = INFINITY, per_voxel_in = 0, per_voxel_out = 0;
  double share = 1;  // of a ray in faces between voxels
};

/// The face across an axis (0: the first) that the ray runs in within a thousandth of a voxel, from one end of the
/// volume to the other; -1: none.
double face_of(const IndexRay& ray, const Grid& grid, int axis) {
  double along = 0, square = 0, sizes = 0;
  for (int n = 0; n < 3; ++n) {
    const double size = static_cast<double>(grid.size[n]);
    along -= (ray.start[n] - 0.5 * (size - 1)) * ray.step[n];
    square += ray.step[n] * ray.step[n];
    sizes += size * size;
  }
  const double at = ray.start[axis] + 0.5 + along / square * ray.step[axis], face = std::round(at);
  const double away = 0.5 * std::sqrt(sizes / square) * std::abs(ray.step[axis]);
  const bool inside = face >= 0 && face <= static_cast<double>(grid.size[axis]);
  return inside && std::abs(at - face) + away < 1e-3 ? face : -1;
}

template <class VisitChord>
void visit_boxes(const IndexRay& ray, const Grid& grid, VisitChord&& visit) {
  std::array<std::size_t, 3> n;
  std::size_t at = 0;
  const std::array<double, 3> faces{face_of(ray, grid, 0), face_of(ray, grid, 1), face_of(ray, grid, 2)};
  for (n[2] = 0; n[2] < grid.size[2]; ++n[2])
    for (n[1] = 0; n[1] < grid.size[1]; ++n[1])
      for (n[0] = 0; n[0] < grid.size[0]; ++n[0], ++at) {
        Chord chord{ray.from, ray.length, 0, 0};
        for (int axis = 0; axis < 3; ++axis) {
          if (faces[axis] >= 0) {
            const double voxel = static_cast<double>(n[axis]);
            chord.share *= voxel == faces[axis] || voxel == faces[axis] - 1 ? 0.5 : 0;
            continue;
          }
          const double low = static_cast<double>(n[axis]) - 0.5 - ray.start[axis], high = low + 1;
          if (ray.step[axis] == 0) {
            if (low > 0 || high <= 0) chord.out = -INFINITY;
            continue;
          }
          const double a = low / ray.step[axis], b = high / ray.step[axis], per_voxel = 1 / std::abs(ray.step[axis]);
          if (std::min(a, b) > chord.in) chord.in = std::min(a, b), chord.per_voxel_in = per_voxel;
          if (std::max(a, b) < chord.out) chord.out = std::max(a, b), chord.per_voxel_out = per_voxel;
        }
        visit(at, chord);
      }
}

}  // namespace

void weights(Projector projector, const Grid& grid, const Geometry& geometry, const Grid& projections,
             const Visit& visit) {
  std::size_t at = 0;
  for (const View& view : geometry.views) {
    const double radius = geometry.radius_cylindrical_detector;
    for (std::size_t row = 0; row < projections.size[1]; ++row)
      for (std::size_t column = 0; column < projections.size[0]; ++column, ++at) {
        const auto x = static_cast<double>(column), y = static_cast<double>(row);
        const auto ray_at = [&](double du, double dv) {
          return index_ray(view, radius, geometry.ray_ends, grid, projections, x + du, y + dv);
        };
        const IndexRay ray = ray_at(0, 0);
        if (projector == Projector::siddon) {
          visit_boxes(ray, grid, [&](std::size_t voxel, const Chord& chord) {
            if (chord.out > chord.in && chord.share > 0) visit(at, voxel, chord.share * (chord.out - chord.in));
          });
        } else if (projector == Projector::joseph) {
          visit_planes(
              ray, grid, at, visit,
              [&](int a, double m) {
                return OnPlane{at_plane(ray, a, m), {1, 1}};
              },
              [](double on, double, double voxel) { return std::max(0.0, 1 - std::abs(on - voxel)); });
        } else {
          const IndexRay left = ray_at(-0.5, 0), right = ray_at(0.5, 0), below = ray_at(0, -0.5),
                         above = ray_at(0, 0.5);
          const bool within_slice = projections.size[1] == 1 && grid.size[2] == 1 && std::abs(ray.step[2]) < 1e-9 &&
                                    std::abs(ray.start[2]) <= 0.5;
          const auto meet = [&](int a, double m) {
            const auto l = at_plane(left, a, m), r = at_plane(right, a, m), d = at_plane(below, a, m),
                       u = at_plane(above, a, m);
            OnPlane on{at_plane(ray, a, m), {}};
            for (int n = 0; n < 2; ++n) on.width[n] = std::max(1.0 / 64, std::abs(r[n] - l[n]) + std::abs(u[n] - d[n]));
            if (within_slice)  // of a volume of one: heights do not count
              for (int n = 0; n < 2; ++n)
                if ((a + 1 + n) % 3 == 2) on.at[n] = 0, on.width[n] = 1;
            return on;
          };
          visit_planes(ray, grid, at, visit, meet,
                       [](double on, double width, double voxel) { return overlap(on, width, voxel) / width; });
        }
      }
  }
}

std::vector<double> crossing_shifts(const Grid& grid, const Geometry& geometry, const Grid& projections) {
  using Index = std::array<std::size_t, 3>;
  std::vector<Index> first(projections.count(), Index{SIZE_MAX, SIZE_MAX, SIZE_MAX}),
      last(projections.count(), Index{});
  weights(Projector::siddon, grid, geometry, projections, [&](std::size_t ray, std::size_t voxel, double) {
    const Index n{voxel % grid.size[0], voxel / grid.size[0] % grid.size[1], voxel / grid.slice()};
    for (int axis = 0; axis < 3; ++axis) {
      first[ray][axis] = std::min(first[ray][axis], n[axis]);
      last[ray][axis] = std::max(last[ray][axis], n[axis]);
    }
  });
  std::vector<double> out(projections.count(), 0.0);
  std::size_t at = 0;
  for (const View& view : geometry.views) {
    for (std::size_t row = 0; row < projections.size[1]; ++row)
      for (std::size_t column = 0; column < projections.size[0]; ++column, ++at) {
        const IndexRay ray = index_ray(view, geometry.radius_cylindrical_detector, geometry.ray_ends, grid, projections,
                                       static_cast<double>(column), static_cast<double>(row));
        for (int axis = 0; axis < 3; ++axis)
          if (last[at][axis] > first[at][axis]) out[at] += 1 / std::abs(ray.step[axis]);
      }
  }
  return out;
}

std::vector<double> crossing_errors(const Volume& projections, const Geometry& geometry, const Grid& grid,
                                    double rounding) {
  std::vector<double> out(grid.count(), 0.0);
  std::size_t at = 0;
  for (const View& view : geometry.views) {
    for (std::size_t row = 0; row < projections.grid.size[1]; ++row)
      for (std::size_t column = 0; column < projections.grid.size[0]; ++column, ++at) {
        const IndexRay ray = index_ray(view, geometry.radius_cylindrical_detector, geometry.ray_ends, grid,
                                       projections.grid, static_cast<double>(column), static_cast<double>(row));
        visit_boxes(ray, grid, [&](std::size_t voxel, const Chord& chord) {
          const double error = rounding * (chord.per_voxel_in + chord.per_voxel_out);
          if (chord.out - chord.in > -error)
            out[voxel] += error * std::abs(static_cast<double>(projections.voxels[at]));
        });
      }
  }
  return out;
}

std::vector<double> project(Projector projector, const Volume& volume, const Geometry& geometry,
                            const Grid& projections) {
  std::vector<double> out(projections.count(), 0.0);
  weights(projector, volume.grid, geometry, projections, [&](std::size_t ray, std::size_t voxel, double weight) {
    out[ray] += weight * static_cast<double>(volume.voxels[voxel]);
  });
  return out;
}

std::vector<double> backproject(Projector projector, const Volume& projections, const Geometry& geometry,
                                const Grid& volume) {
  std::vector<double> out(volume.count(), 0.0);
  weights(projector, volume, geometry, projections.grid, [&](std::size_t ray, std::size_t voxel, double weight) {
    out[voxel] += weight * static_cast<double>(projections.voxels[ray]);
  });
  return out;
}

std::vector<double> backproject(const std::vector<double>& values, const Grid& projections, const Geometry& geometry,
                                const Grid& grid, const Weights& weights) {
  std::vector<double> out(grid.count(), 0.0);
  const auto columns = static_cast<std::int64_t>(projections.size[0]),
             rows = static_cast<std::int64_t>(projections.size[1]);
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View& view = geometry.views[n];
    const Matrix34 m = projection_matrix(view);
    const double* p = values.data() + static_cast<std::size_t>(columns * rows) * n;
    const auto pixel = [&](std::int64_t column, std::int64_t row) {
      return column < 0 || column >= columns || row < 0 || row >= rows ? 0.0 : p[column + columns * row];
    };
    std::size_t at = 0;
    for (std::size_t k = 0; k < grid.size[2]; ++k)
      for (std::size_t j = 0; j < grid.size[1]; ++j)
        for (std::size_t i = 0; i < grid.size[0]; ++i, ++at) {
          const auto x = grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
          const auto row_of = [&](int r) {
            return m[4 * r] * x[0] + m[4 * r + 1] * x[1] + m[4 * r + 2] * x[2] + m[4 * r + 3];
          };
          const double w = row_of(2);
          if (!view.parallel() && w >= 0) continue;  // behind the source
          auto [u, v] = pixel_index(projections, row_of(0) / w, view.fan_stack ? row_of(1) : row_of(1) / w);
          if (rows == 1) {
            if (std::abs(v) > 0.5) continue;
            v = 0;
          }
          const double u0 = std::floor(u), v0 = std::floor(v), a = u - u0, b = v - v0;
          const auto c0 = static_cast<std::int64_t>(u0), r0 = static_cast<std::int64_t>(v0);
          double value = (1 - a) * (1 - b) * pixel(c0, r0) + a * (1 - b) * pixel(c0 + 1, r0) +
                         (1 - a) * b * pixel(c0, r0 + 1) + a * b * pixel(c0 + 1, r0 + 1);
          double weight = weights.scale.empty() ? 1 : weights.scale[n];
          if (weights.distance) weight *= (view.sid / w) * (view.sid / w);
          if (weights.variance) {
            weight *= weight;
            value *= (1 - a) * (1 - a) + a * a + 2 * a * (1 - a) * weights.correlation;
            value *= (1 - b) * (1 - b) + b * b;
          }
          out[at] += weight * value;
        }
  }
  return out;
}

std::vector<double> kernel(Window window, double cutoff, std::size_t length) {
  // the ramp's kernel on the circle, transformed, windowed and transformed back by the definition
  const auto size = static_cast<std::int64_t>(length);
  std::vector<double> transfer(length), out(length);
  for (std::int64_t k = 0; k < size; ++k) {
    double sum = 0.25;
    for (std::int64_t n = 1; n <= size / 2; n += 2) {
      const double h = -1 / (pi * pi * static_cast<double>(n * n));
      sum += h * std::cos(2 * pi * static_cast<double>(k * n % size) / static_cast<double>(size));
      if (n != size - n)
        sum += h * std::cos(2 * pi * static_cast<double>(k * (size - n) % size) / static_cast<double>(size));
    }
    const double w = 2 * pi * static_cast<double>(std::min(k, size - k)) / static_cast<double>(size);
    transfer[static_cast<std::size_t>(k)] = sum * window_value(window, cutoff, w);
  }
  for (std::int64_t n = 0; n < size; ++n) {
    double sum = 0;
    for (std::int64_t k = 0; k < size; ++k)
      sum += transfer[static_cast<std::size_t>(k)] *
             std::cos(2 * pi * static_cast<double>(k * n % size) / static_cast<double>(size));
    out[static_cast<std::size_t>(n)] = sum / static_cast<double>(size);
  }
  return out;
}

namespace {

using Vector = std::array<double, 3>;

double dot(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// The rest of a without its part along the unit vector b.
Vector across(const Vector& a, const Vector& b) {
  const double along = dot(a, b);
  return {a[0] - along * b[0], a[1] - along * b[1], a[2] - along * b[2]};
}

/// Keys (1981), a = -1/2: the share of a pixel at this distance.
double cubic_share(double distance) {
  const double d = std::abs(distance);
  if (d >= 2) return 0;
  return d < 1 ? 1.5 * d * d * d - 2.5 * d * d + 1 : -0.5 * d * d * d + 2.5 * d * d - 4 * d + 2;
}

/// Cubic between pixels; with `correlation` (axis, lag) their variances, linear, times that of what the cubic leaves.
double between(const std::function<double(double, double)>& at, const std::array<double, 2>& where,
               const std::function<double(int, int)>& correlation) {
  const double x0 = std::floor(where[0]), y0 = std::floor(where[1]);
  double sum = 0;
  for (int dy = -1; dy <= 2; ++dy)
    for (int dx = -1; dx <= 2; ++dx) {
      const double x = where[0] - x0 - dx, y = where[1] - y0 - dy;
      const double share = correlation ? std::max(0.0, 1 - std::abs(x)) * std::max(0.0, 1 - std::abs(y))
                                       : cubic_share(x) * cubic_share(y);
      sum += share * at(x0 + dx, y0 + dy);
    }
  if (!correlation) return sum;
  for (int axis = 0; axis < 2; ++axis) {
    const double f = where[axis] - std::floor(where[axis]);
    double left = 0;
    for (int i = -1; i <= 2; ++i)
      for (int j = -1; j <= 2; ++j)
        left += cubic_share(f - i) * cubic_share(f - j) * correlation(axis, std::abs(i - j));
    sum *= left;
  }
  return sum;
}

/// cos gamma for an upright view; for any other the ratio to it, from vectors in the world (see fdk_general.cl).
double ray_weight(const View& view, const Ray& ray, double v) {
  if (view.parallel()) {
    const double tilt = std::cos(view.out_of_plane_angle * pi / 180), turn = std::cos(view.in_plane_angle * pi / 180);
    return tilt / turn;
  }
  const Vector source = source_position(view), way{source[2], 0, -source[0]};
  const Vector at = detector_point(view, 0, 0), next = detector_point(view, 1, 0);
  const Vector row{next[0] - at[0], next[1] - at[1], next[2] - at[2]};
  Vector e = across(row, ray.direction);
  const double length = std::sqrt(dot(e, e));
  for (double& each : e) each /= length;
  const Vector moves = across(way, ray.direction);
  const double y = view.fan_stack ? 0 : v + view.projection_offset_y - view.source_offset_y;
  return view.sdd / std::hypot(view.sdd, y) * dot(moves, moves) / std::abs(dot(moves, e)) / view.sid;
}

/// The angle to the line from source to axis, seen along y: positive towards +u. Parallel beam: from parallel_source.
double fan_angle(const View& view, const Ray& ray) {
  if (view.parallel()) {
    const auto& [p, d] = ray;
    return (p[2] * d[0] - p[0] * d[2]) / (d[0] * d[0] + d[2] * d[2]) / parallel_source;
  }
  const Vector source = source_position(view);
  return std::atan2(ray.direction[0] * source[2] - ray.direction[2] * source[0],
                    -ray.direction[0] * source[0] - ray.direction[2] * source[2]);
}

}  // namespace

double redundancy_weight(const Redundancy& redundancy, double beta, double gamma) {
  const double limit = redundancy.limit, alpha = -gamma;
  if (redundancy.kind == Redundancy::Kind::parker) {
    double sine = 1;
    if (beta < 0 || beta > pi + 2 * limit) return 0;
    if (beta <= 2 * limit - 2 * alpha)
      sine = std::sin(pi / 4 * beta / (limit - alpha));
    else if (beta > pi - 2 * alpha)
      sine = std::sin(pi / 4 * (pi + 2 * limit - beta) / (limit + alpha));
    return 2 * sine * sine;
  }
  if (redundancy.kind == Redundancy::Kind::wang) {
    const double side = limit > 0 ? gamma : -gamma, edge = std::abs(limit);
    if (redundancy.flat == 0 || std::abs(side) >= edge)
      return side <= -edge ? 0 : side >= edge ? 2 : 1 + std::sin(pi / 2 * side / edge);
    const double rise = std::max(0.0, std::abs(side) / edge - redundancy.flat) / (1 - redundancy.flat);
    return 1 + std::copysign(0.5 - 0.5 * std::cos(pi * rise), side);
  }
  if (redundancy.kind == Redundancy::Kind::gaps) {
    const auto seen = [&](double at) {
      double least = 1;
      for (const auto& [centre, half] : redundancy.gaps) {
        const double apart = std::abs(std::remainder(at - centre, 2 * pi)) - half;
        least = std::min(least, apart <= 0 ? 0 : apart >= gap_rise ? 1 : 0.5 - 0.5 * std::cos(pi * apart / gap_rise));
      }
      return least;
    };
    const double here = seen(beta), there = seen(beta + pi - 2 * gamma);
    return 2 * here / (here + there);
  }
  return 1;
}

namespace {

/// A row of line integrals `distance` pixels before its first one, if their squares were a parabola through that end.
double elliptic(const std::vector<double>& row, int distance) {
  const int last = static_cast<int>(row.size()) - 1, levels = std::min(last, 2) + 1;
  double level = 0;
  for (int n = 0; n < levels; ++n) level += row[static_cast<std::size_t>(n)] / levels;
  level = std::pow(std::max(0.0, level), 2);
  const double middle = 0.5 * (levels - 1);
  double xx = 0, xxx = 0, xxxx = 0, xy = 0, xxy = 0;  // least squares of y = slope x + bend x^2
  for (int n = 0; n < 16; ++n) {
    const int at = std::min(static_cast<int>(std::nearbyint(std::max(0.5 * last, 1.0) * n / 15)), last);
    const double x = at - middle, y = std::pow(std::max(0.0, row[static_cast<std::size_t>(at)]), 2) - level;
    xx += x * x, xxx += x * x * x, xxxx += x * x * x * x, xy += x * y, xxy += x * x * y;
  }
  const double determinant = xx * xxxx - xxx * xxx, x = -(distance + middle);
  if (!(determinant > 1e-6 * xx * xxxx)) return 0;
  const double slope = (xy * xxxx - xxy * xxx) / determinant, bend = (xxy * xx - xy * xxx) / determinant;
  return std::sqrt(std::clamp(level + slope * x + std::min(bend, 0.0) * x * x, 0.0, 2 * level));
}

}  // namespace

FilteredStack filtered_stack(const Volume& projections, const Geometry& geometry, const FdkParameters& parameters,
                             std::size_t length) {
  const Grid& raw = projections.grid;
  const FilteredRows rows = filtered_rows(geometry, raw, parameters, nullptr, length);
  Redundancy redundancy = redundancy_of(geometry, raw, parameters.redundancy);
  redundancy.limit = rows.limit;
  Grid stack = rows.padded;
  if (length > 0) stack.size[0] = rows.length;
  std::vector<double> h = kernel(parameters.window, parameters.cutoff, rows.length);
  std::array<double, 5> lags{};  // of the kernel with itself
  for (std::size_t n = 0; n < rows.length; ++n)
    for (std::size_t lag = 0; lag < 5; ++lag) lags[lag] += h[n] * h[(n + lag) % rows.length];
  const double power = lags[0], product = lags[1];
  Weights weights;
  weights.distance = !geometry.parallel();
  weights.variance = parameters.variance.has_value();
  weights.correlation = product / power;
  // after (1 4 1)/6, the mean of what linear interpolation does to a correlation
  const auto interpolated = [&](int lag) {
    return lag == 0 ? 1.0 : (lags[lag] * 4 + lags[lag - 1] + lags[lag + 1]) / (power * 4 + product * 2);
  };
  if (weights.variance)
    for (double& value : h) value *= value;

  const auto measured_at = [&](std::size_t column, std::size_t row, std::size_t n) -> double {
    const double p = projections.at(column, row, n);
    if (!parameters.variance) return p;
    const double intensity = parameters.variance->photons * std::exp(-p), electronic = parameters.variance->electronic;
    return (intensity + electronic * electronic) / (intensity * intensity);
  };
  const double radius = geometry.radius_cylindrical_detector;
  const bool whole_turn = redundancy.kind == Redundancy::Kind::wang;
  const AngularCoverage coverage = angular_coverage(geometry, false, whole_turn);
  std::vector<double> filtered(stack.count(), 0.0);
  const auto low = static_cast<std::int64_t>(rows.low_extent), high = static_cast<std::int64_t>(rows.high_extent),
             before = static_cast<std::int64_t>(rows.before);
  for (std::size_t n = 0; n < stack.size[2]; ++n) {
    const View &on = geometry.views[n], &view = rows.geometry.views[n];  // measured, and filtered
    const ViewRays rays(view);
    weights.scale.push_back(redundancy.factor * coverage.gaps[n] / stack.spacing[0] *
                            (view.parallel() ? (whole_turn ? 0.5 : 1) : 0.5 * view.sdd / view.sid));
    // the measured pixel, with fractions, of the ray to a point of the detector that is filtered
    const auto measured_pixel = [&](double u, double v) {
      if (rows.upright) {
        const auto point = detector_point(view, u, v);
        const Matrix34 m = projection_matrix(on);
        const auto of = [&](int i) { return m[i] * point[0] + m[i + 1] * point[1] + m[i + 2] * point[2] + m[i + 3]; };
        u = of(0) / of(8), v = on.fan_stack ? of(4) : of(4) / of(8);
      }
      if (radius > 0) {
        // bisection for the point of the arc that the ray to (u, v) meets
        const double slope = (u + on.projection_offset_x - on.source_offset_x) / on.sdd;
        double from = -pi / 2 * radius - on.projection_offset_x, to = pi / 2 * radius - on.projection_offset_x;
        for (int step = 0; step < 80; ++step)
          (ray_slopes(on, radius, 0.5 * (from + to), 0)[0] < slope ? from : to) = 0.5 * (from + to);
        const double scale = 1 - radius / on.sdd * (1 - std::cos((from + on.projection_offset_x) / radius));
        u = from;
        if (!on.fan_stack)
          v = (v + on.projection_offset_y - on.source_offset_y) * scale + on.source_offset_y - on.projection_offset_y;
      }
      auto pixel = pixel_index(raw, u, v);
      if (raw.size[1] == 1) pixel[1] = 0;
      return pixel;
    };
    const auto last = [&](int axis) { return static_cast<double>(raw.size[axis]) - 1; };
    const auto sample = [&](double u, double v, std::size_t column, std::size_t row) {
      if (radius == 0 && !rows.upright) return measured_at(column, row, n);
      const auto [x, y] = measured_pixel(u, v);
      if (rows.upright) {
        const auto at = [&](double i, double j) {
          return measured_at(static_cast<std::size_t>(std::clamp(i, 0.0, last(0))),
                             static_cast<std::size_t>(std::clamp(j, 0.0, last(1))), n);
        };
        return between(at, {std::clamp(x, 0.0, last(0)), std::clamp(y, 0.0, last(1))},
                       parameters.variance ? std::function<double(int, int)>([&](int axis, int lag) {
                         return axis == 0 ? interpolated(lag) : lag == 0 ? 1 : lag == 1 ? 0.25 : 0;
                       })
                                           : nullptr);
      }
      const double x0 = std::floor(x), y0 = std::floor(y), a = x - x0, b = y - y0;
      double sum = 0;
      for (int dy = 0; dy < 2; ++dy)
        for (int dx = 0; dx < 2; ++dx)
          if (x0 + dx >= 0 && x0 + dx <= last(0) && y0 + dy >= 0 && y0 + dy <= last(1))
            sum += (dx ? a : 1 - a) * (dy ? b : 1 - b) *
                   measured_at(static_cast<std::size_t>(x0 + dx), static_cast<std::size_t>(y0 + dy), n);
      if (parameters.variance)
        sum *= (1 - 2 * a * (1 - a) * (1 - interpolated(1))) * (1 - 2 * b * (1 - b) * (1 - 0.25));
      return sum;
    };
    for (std::size_t row = 0; row < stack.size[1]; ++row) {
      std::vector<double> line, integrals;  // from column `first` on; weighted, and before
      std::int64_t first = 0;
      const auto weight_at = [&](std::int64_t column) {
        const auto [u, v] = pixel_position(rows.measured, static_cast<double>(column), static_cast<double>(row));
        const Ray ray = rays.to(u, v);
        const double beta = redundancy.betas.empty() ? 0 : redundancy.betas[n];
        const double weight = ray_weight(view, ray, v) * redundancy_weight(redundancy, beta, fan_angle(view, ray));
        return parameters.variance ? weight * weight : weight;
      };
      for (std::size_t column = 0; column < rows.measured.size[0]; ++column) {
        const auto [u, v] = pixel_position(rows.measured, static_cast<double>(column), static_cast<double>(row));
        const double beyond = (rows.symmetric ? 0.5 : 0) + 0.001;
        if (const double x = measured_pixel(u, v)[0]; rows.upright && (x < -beyond || x > last(0) + beyond)) continue;
        if (line.empty()) first = static_cast<std::int64_t>(column);
        integrals.push_back(sample(u, v, column, row));
        line.push_back(weight_at(static_cast<std::int64_t>(column)) * integrals.back());
      }
      const auto count = static_cast<std::int64_t>(line.size());
      double* out = filtered.data() + stack.size[0] * (row + stack.size[1] * n);
      for (std::int64_t b = -low; b < count + high; ++b) {
        double value = 0;
        if (b >= 0 && b < count) {
          value = line[static_cast<std::size_t>(b)];
        } else {
          const auto distance = static_cast<int>(b < 0 ? -b : b - count + 1),
                     extent = static_cast<int>(b < 0 ? low : high);
          std::vector<double> inward = integrals;
          if (b >= count) std::reverse(inward.begin(), inward.end());
          value = weight_at(first + b) * elliptic(inward, distance) *
                  std::cos(pi / 2 * std::max(0.0, 2.0 * distance / (extent + 1) - 1));
        }
        for (std::int64_t a = 0; a < static_cast<std::int64_t>(stack.size[0]); ++a)
          out[a] += h[static_cast<std::size_t>(std::abs(a - b - first - before)) % rows.length] * value;
      }
    }
  }
  return {filtered, stack, rows.geometry, weights};
}

std::vector<double> fdk(const Volume& projections, const Geometry& geometry, const Grid& grid,
                        const FdkParameters& parameters) {
  const auto [values, stack, seen, weights] = filtered_stack(projections, geometry, parameters);
  return backproject(values, stack, seen, grid, weights);
}

double largest_difference(const std::vector<float>& found, const std::vector<double>& expected) {
  double result = found.size() == expected.size() ? 0 : INFINITY;
  for (std::size_t n = 0; n < std::min(found.size(), expected.size()); ++n) {
    const double difference = std::abs(static_cast<double>(found[n]) - expected[n]);
    if (!(difference <= result)) result = difference;  // NaN counts
  }
  return result;
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

}  // namespace halocline::reference
