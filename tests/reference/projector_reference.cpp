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

std::vector<double> fdk(const Volume& projections, const Geometry& geometry, const Grid& grid,
                        const FdkParameters& parameters, std::size_t length) {
  const Grid& stack = projections.grid;
  std::vector<double> h = kernel(parameters.window, parameters.cutoff, length);
  double power = 0, product = 0;
  for (std::size_t n = 0; n < length; ++n) {
    power += h[n] * h[n];
    product += h[n] * h[(n + 1) % length];
  }
  Weights weights;
  weights.distance = !geometry.parallel();
  weights.variance = parameters.variance.has_value();
  weights.correlation = product / power;
  if (weights.variance)
    for (double& value : h) value *= value;

  const AngularCoverage coverage = angular_coverage(geometry);
  std::vector<double> filtered(stack.count(), 0.0);
  std::vector<double> line(stack.size[0]);
  for (std::size_t n = 0; n < stack.size[2]; ++n) {
    const View& view = geometry.views[n];
    weights.scale.push_back(coverage.gaps[n] / stack.spacing[0] * (view.parallel() ? 1 : 0.5 * view.sdd / view.sid));
    for (std::size_t row = 0; row < stack.size[1]; ++row) {
      for (std::size_t column = 0; column < stack.size[0]; ++column) {
        const auto [image_u, image_v] = pixel_position(stack, static_cast<double>(column), static_cast<double>(row));
        const double u = image_u + view.projection_offset_x - view.source_offset_x;
        const double v = image_v + view.projection_offset_y - view.source_offset_y;
        const double cosine = view.parallel() ? 1 : view.sdd / std::sqrt(view.sdd * view.sdd + u * u + v * v);
        const double p = projections.at(column, row, n);
        if (parameters.variance) {
          const double intensity = parameters.variance->photons * std::exp(-p);
          const double electronic = parameters.variance->electronic;
          line[column] = (intensity + electronic * electronic) / (intensity * intensity) * cosine * cosine;
        } else {
          line[column] = p * cosine;
        }
      }
      double* out = filtered.data() + stack.size[0] * (row + stack.size[1] * n);
      for (std::size_t a = 0; a < stack.size[0]; ++a)
        for (std::size_t b = 0; b < stack.size[0]; ++b) out[a] += h[a > b ? a - b : b - a] * line[b];
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
