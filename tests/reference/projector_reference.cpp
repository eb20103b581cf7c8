#include "tests/reference/projector_reference.hpp"

#include <algorithm>
#include <cmath>
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

}  // namespace

std::vector<double> joseph(const Volume& volume, const Geometry& geometry, const Grid& projections) {
  const Grid& grid = volume.grid;
  std::vector<double> out(projections.count(), 0.0);
  std::size_t at = 0;
  const auto voxel = [&](const std::array<std::int64_t, 3>& n) -> double {
    for (int axis = 0; axis < 3; ++axis)
      if (n[axis] < 0 || n[axis] >= static_cast<std::int64_t>(grid.size[axis])) return 0;
    return volume.at(static_cast<std::size_t>(n[0]), static_cast<std::size_t>(n[1]), static_cast<std::size_t>(n[2]));
  };
  for (const View& view : geometry.views) {
    const ViewRays rays(view);
    for (std::size_t row = 0; row < projections.size[1]; ++row)
      for (std::size_t column = 0; column < projections.size[0]; ++column, ++at) {
        const auto [u, v] = pixel_position(projections, static_cast<double>(column), static_cast<double>(row));
        const Ray ray = rays.to(u, v);
        const auto start = grid.index(ray.origin[0], ray.origin[1], ray.origin[2]);
        const auto next = grid.index(ray.origin[0] + ray.direction[0], ray.origin[1] + ray.direction[1],
                                     ray.origin[2] + ray.direction[2]);
        std::array<double, 3> step;
        for (int axis = 0; axis < 3; ++axis) step[axis] = next[axis] - start[axis];
        int a = 0;
        for (int axis = 1; axis < 3; ++axis)
          if (std::abs(step[axis]) > std::abs(step[a])) a = axis;
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        const double path = 1 / std::abs(step[a]);  // the direction is a unit vector
        double sum = 0;
        for (std::int64_t m = 0; m < static_cast<std::int64_t>(grid.size[a]); ++m) {
          const double t = (static_cast<double>(m) - start[a]) / step[a];
          const double y = start[b] + t * step[b], z = start[c] + t * step[c];
          const double y0 = std::floor(y), z0 = std::floor(z);
          for (int dy = 0; dy < 2; ++dy)
            for (int dz = 0; dz < 2; ++dz) {
              std::array<std::int64_t, 3> n;
              n[a] = m;
              n[b] = static_cast<std::int64_t>(y0) + dy;
              n[c] = static_cast<std::int64_t>(z0) + dz;
              sum += (dy ? y - y0 : 1 - (y - y0)) * (dz ? z - z0 : 1 - (z - z0)) * voxel(n);
            }
        }
        out[at] = sum * path;
      }
  }
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

/// The angle to the line from source to axis, seen along y: positive towards +u.
double fan_angle(const View& view, const Ray& ray) {
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
  const AngularCoverage coverage = angular_coverage(geometry);
  std::vector<double> filtered(stack.count(), 0.0);
  const auto low = static_cast<std::int64_t>(rows.low_extent), high = static_cast<std::int64_t>(rows.high_extent),
             count = static_cast<std::int64_t>(rows.measured.size[0]), before = static_cast<std::int64_t>(rows.before);
  for (std::size_t n = 0; n < stack.size[2]; ++n) {
    const View& view = geometry.views[n];
    const ViewRays rays(view);
    weights.scale.push_back(coverage.gaps[n] / stack.spacing[0] * (view.parallel() ? 1 : 0.5 * view.sdd / view.sid));
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
        if (!view.parallel()) weight *= redundancy_weight(redundancy, beta, fan_angle(view, ray));
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
