#include "tests/reference/projector_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace halocline::reference {
namespace {

constexpr double pi = std::numbers::pi;

/// Physical detector mm to pixel index.
std::array<double, 2> pixel_index(const Grid& projections, double u, double v) {
  const auto& d = projections.direction;
  const double a = u - projections.origin[0], b = v - projections.origin[1];
  return {(d[0] * a + d[3] * b) / projections.spacing[0], (d[1] * a + d[4] * b) / projections.spacing[1]};
}

/// ... and back.
std::array<double, 2> pixel_position(const Grid& projections, double column, double row) {
  const auto& d = projections.direction;
  const double a = column * projections.spacing[0], b = row * projections.spacing[1];
  return {projections.origin[0] + d[0] * a + d[1] * b, projections.origin[1] + d[3] * a + d[4] * b};
}

/// A ray in voxel indices for a unit vector in the world: a step of 1 is a mm.
struct IndexRay {
  std::array<double, 3> start, step;
};
IndexRay index_ray(const ViewRays& rays, const Grid& grid, const Grid& projections, double column, double row) {
  const auto [u, v] = pixel_position(projections, column, row);
  const Ray ray = rays.to(u, v);
  IndexRay result;
  result.start = grid.index(ray.origin[0], ray.origin[1], ray.origin[2]);
  const auto next =
      grid.index(ray.origin[0] + ray.direction[0], ray.origin[1] + ray.direction[1], ray.origin[2] + ray.direction[2]);
  for (int axis = 0; axis < 3; ++axis) result.step[axis] = next[axis] - result.start[axis];
  return result;
}

int main_axis(const IndexRay& ray) {
  int a = 0;
  for (int axis = 1; axis < 3; ++axis)
    if (std::abs(ray.step[axis]) > std::abs(ray.step[a])) a = axis;
  return a;
}

/// On plane m across axis a, the two other coordinates in cyclic order.
std::array<double, 2> at_plane(const IndexRay& ray, int a, double m) {
  const double t = (m - ray.start[a]) / ray.step[a];
  const int b = (a + 1) % 3, c = (a + 2) % 3;
  return {ray.start[b] + t * ray.step[b], ray.start[c] + t * ray.step[c]};
}

double overlap(double at, double width, double voxel) {
  return std::max(0.0, std::min(at + width / 2, voxel + 0.5) - std::max(at - width / 2, voxel - 0.5));
}

/// Where a plane is met along its two axes, and the extents of what is cast there.
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
    const OnPlane on = meet(a, static_cast<double>(n[a]));
    for (n[c] = 0; n[c] < grid.size[c]; ++n[c]) {
      const double weight_c = weight(on.at[1], on.width[1], static_cast<double>(n[c]));
      for (n[b] = 0; weight_c > 0 && n[b] < grid.size[b]; ++n[b]) {
        const double weight_b = weight(on.at[0], on.width[0], static_cast<double>(n[b]));
        if (weight_b > 0) visit(number, n[0] + grid.size[0] * (n[1] + grid.size[1] * n[2]), path * weight_b * weight_c);
      }
    }
  }
}

/// Where a ray is in a voxel's box, in mm along it (in >= out: nowhere), and mm that a plane between voxels moves along
/// the ray with a voxel, for the planes that bound it there.
struct Chord {
  double in = -INFINITY, out = INFINITY, per_voxel_in = 0, per_voxel_out = 0;
};

template <class VisitChord>
void visit_boxes(const IndexRay& ray, const Grid& grid, VisitChord&& visit) {
  std::array<std::size_t, 3> n;
  std::size_t at = 0;
  for (n[2] = 0; n[2] < grid.size[2]; ++n[2])
    for (n[1] = 0; n[1] < grid.size[1]; ++n[1])
      for (n[0] = 0; n[0] < grid.size[0]; ++n[0], ++at) {
        Chord chord;
        for (int axis = 0; axis < 3; ++axis) {
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
    const ViewRays rays(view);
    for (std::size_t row = 0; row < projections.size[1]; ++row)
      for (std::size_t column = 0; column < projections.size[0]; ++column, ++at) {
        const auto x = static_cast<double>(column), y = static_cast<double>(row);
        const auto ray_at = [&](double du, double dv) { return index_ray(rays, grid, projections, x + du, y + dv); };
        const IndexRay ray = ray_at(0, 0);
        if (projector == Projector::siddon) {
          visit_boxes(ray, grid, [&](std::size_t voxel, const Chord& chord) {
            if (chord.out > chord.in) visit(at, voxel, chord.out - chord.in);
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
          const auto meet = [&](int a, double m) {
            const auto l = at_plane(left, a, m), r = at_plane(right, a, m), d = at_plane(below, a, m),
                       u = at_plane(above, a, m);
            OnPlane on{at_plane(ray, a, m), {}};
            for (int n = 0; n < 2; ++n) on.width[n] = std::max(1.0 / 64, std::abs(r[n] - l[n]) + std::abs(u[n] - d[n]));
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
    const ViewRays rays(view);
    for (std::size_t row = 0; row < projections.size[1]; ++row)
      for (std::size_t column = 0; column < projections.size[0]; ++column, ++at) {
        const IndexRay ray = index_ray(rays, grid, projections, static_cast<double>(column), static_cast<double>(row));
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
    const ViewRays rays(view);
    for (std::size_t row = 0; row < projections.grid.size[1]; ++row)
      for (std::size_t column = 0; column < projections.grid.size[0]; ++column, ++at) {
        const IndexRay ray =
            index_ray(rays, grid, projections.grid, static_cast<double>(column), static_cast<double>(row));
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
          auto [u, v] = pixel_index(projections, row_of(0) / w, row_of(1) / w);
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

/// What is left of a when its part along the unit vector b is taken off.
Vector across(const Vector& a, const Vector& b) {
  const double along = dot(a, b);
  return {a[0] - along * b[0], a[1] - along * b[1], a[2] - along * b[2]};
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
  const double y = v + view.projection_offset_y - view.source_offset_y;
  return view.sdd / std::hypot(view.sdd, y) * dot(moves, moves) / dot(moves, e) / view.sid;
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
    return side <= -edge ? 0 : side >= edge ? 2 : 1 + std::sin(pi / 2 * side / edge);
  }
  return 1;
}

std::vector<double> fdk(const Volume& projections, const Geometry& geometry, const Grid& grid,
                        const FdkParameters& parameters) {
  const Grid& raw = projections.grid;
  const FilteredRows rows = filtered_rows(geometry, raw, parameters);
  const Redundancy redundancy = redundancy_of(geometry, raw, parameters.redundancy);
  const Grid& stack = rows.padded;
  std::vector<double> h = kernel(parameters.window, parameters.cutoff, rows.length);
  double power = 0, product = 0, second = 0;  // of the kernel's neighbours
  for (std::size_t n = 0; n < rows.length; ++n) {
    power += h[n] * h[n];
    product += h[n] * h[(n + 1) % rows.length];
    second += h[n] * h[(n + 2) % rows.length];
  }
  Weights weights;
  weights.distance = !geometry.parallel();
  weights.variance = parameters.variance.has_value();
  weights.correlation = product / power;
  // after (1 4 1)/6, the mean of what linear interpolation does to a correlation
  const double interpolated = (product * 4 + power + second) / (power * 4 + product * 2);
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
             count = static_cast<std::int64_t>(rows.measured.size[0]), before = static_cast<std::int64_t>(rows.before);
  for (std::size_t n = 0; n < stack.size[2]; ++n) {
    const View& view = geometry.views[n];
    const ViewRays rays(view);
    weights.scale.push_back(coverage.gaps[n] / stack.spacing[0] *
                            (view.parallel() ? (whole_turn ? 0.5 : 1) : 0.5 * view.sdd / view.sid));
    const auto sample = [&](double u, double v, std::size_t column, std::size_t row) {
      if (radius == 0) return measured_at(column, row, n);
      // bisection for the point of the arc that the ray to (u, v) meets
      const double slope = (u + view.projection_offset_x - view.source_offset_x) / view.sdd;
      double from = -pi / 2 * radius - view.projection_offset_x, to = pi / 2 * radius - view.projection_offset_x;
      for (int step = 0; step < 80; ++step)
        (ray_slopes(view, radius, 0.5 * (from + to), 0)[0] < slope ? from : to) = 0.5 * (from + to);
      const double scale = 1 - radius / view.sdd * (1 - std::cos((from + view.projection_offset_x) / radius));
      const double arc_v = (v + view.projection_offset_y - view.source_offset_y) * scale + view.source_offset_y -
                           view.projection_offset_y;
      auto [x, y] = pixel_index(raw, from, arc_v);
      if (raw.size[1] == 1) y = 0;
      const double x0 = std::floor(x), y0 = std::floor(y), a = x - x0, b = y - y0;
      double sum = 0;
      for (int dy = 0; dy < 2; ++dy)
        for (int dx = 0; dx < 2; ++dx)
          if (x0 + dx >= 0 && x0 + dx < static_cast<double>(raw.size[0]) && y0 + dy >= 0 &&
              y0 + dy < static_cast<double>(raw.size[1]))
            sum += (dx ? a : 1 - a) * (dy ? b : 1 - b) *
                   measured_at(static_cast<std::size_t>(x0 + dx), static_cast<std::size_t>(y0 + dy), n);
      if (parameters.variance) sum *= (1 - 2 * a * (1 - a) * (1 - interpolated)) * (1 - 2 * b * (1 - b) * (1 - 0.25));
      return sum;
    };
    for (std::size_t row = 0; row < stack.size[1]; ++row) {
      std::vector<double> line(rows.measured.size[0]);
      for (std::size_t column = 0; column < line.size(); ++column) {
        const auto [u, v] = pixel_position(rows.measured, static_cast<double>(column), static_cast<double>(row));
        const Ray ray = rays.to(u, v);
        const double beta = redundancy.betas.empty() ? 0 : redundancy.betas[n];
        double weight = ray_weight(view, ray, v);
        weight *= redundancy_weight(redundancy, beta, fan_angle(view, ray));
        if (parameters.variance) weight *= weight;
        line[column] = weight * sample(u, v, column, row);
      }
      double* out = filtered.data() + stack.size[0] * (row + stack.size[1] * n);
      for (std::int64_t b = -low; b < count + high; ++b) {
        double value = 0;
        if (b >= 0 && b < count) {
          value = line[static_cast<std::size_t>(b)];
        } else {
          const double distance = static_cast<double>(b < 0 ? -b : b - count + 1);
          const double taper =
              std::pow(std::cos(pi / 2 * distance / static_cast<double>((b < 0 ? low : high) + 1)), 0.75);
          const auto mirrored = static_cast<std::size_t>(b < 0 ? -b : 2 * (count - 1) - b);
          value = std::max(0.0, 2 * (b < 0 ? line.front() : line.back()) - line[mirrored]) * taper;
        }
        for (std::int64_t a = 0; a < static_cast<std::int64_t>(stack.size[0]); ++a)
          out[a] += h[static_cast<std::size_t>(std::abs(a - b - before))] * value;
      }
    }
  }
  return backproject(filtered, stack, geometry, grid, weights);
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
