#include "tests/reference/tv_reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace halocline::reference {
namespace {

double weight_at(const Image& w, std::size_t i) {
  return w.empty() ? 1 : w[i];
}

// The largest weight among i's forward neighbours, 0 without any.
double largest_ahead(const Lattice& lattice, const Image& w, std::size_t i) {
  double most = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (lattice.position(i, axis) + 1 < lattice.size[axis])
      most = std::max(most, weight_at(w, i + lattice.stride(axis)));
  return most;
}

void project(Field& q, double lambda) {
  for (std::size_t i = 0; i < q[0].size(); ++i) {
    const double length = std::sqrt(q[0][i] * q[0][i] + q[1][i] * q[1][i] + q[2][i] * q[2][i]);
    if (length > lambda)
      for (auto& component : q) component[i] *= lambda / length;
  }
}

// 1 / ||D||^2 voxel by voxel.
Image dual_steps(const Lattice& lattice, const Image& w) {
  double inverse_squares = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (lattice.size[axis] > 1) inverse_squares += 1 / (lattice.spacing[axis] * lattice.spacing[axis]);
  Image steps(lattice.count(), 0.0);
  if (inverse_squares == 0) return steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double sum = w.empty() ? 2 : w[i] + largest_ahead(lattice, w, i);
    steps[i] = sum > 0 ? 1 / (2 * sum * inverse_squares) : 0;
  }
  return steps;
}

void dual_step(const Lattice& lattice, const Image& u, const Image& steps, double factor, double lambda, Field& q) {
  const Field d = gradient(lattice, u);
  for (int axis = 0; axis < 3; ++axis)
    for (std::size_t i = 0; i < u.size(); ++i) q[axis][i] += factor * (steps.empty() ? 1 : steps[i]) * d[axis][i];
  project(q, lambda);
}

void primal_step(const Lattice& lattice, const Image& f, const Image& w, const Field& q, double theta, Image& u) {
  const Image div = divergence(lattice, q);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = (1 - theta) * u[i] + theta * (f[i] + weight_at(w, i) * div[i]);
}

void chambolle_pock(const Lattice& lattice, const Image& f, const Image& w, double lambda, int iterations,
                    PrimalDual& state) {
  double norm2 = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (lattice.size[axis] > 1) norm2 += 4 / (lattice.spacing[axis] * lattice.spacing[axis]);
  const double gamma = w.empty() ? 1 : 1 / *std::max_element(w.begin(), w.end());
  double tau = 1 / gamma, sigma = norm2 > 0 ? 1 / (tau * norm2) : 0;
  Image bar = state.u;
  for (int k = 0; k < iterations; ++k) {
    dual_step(lattice, bar, {}, sigma, lambda, state.q);
    const Image div = divergence(lattice, state.q);
    const double theta = 1 / std::sqrt(1 + 2 * gamma * tau);
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double weight = weight_at(w, i), before = state.u[i];
      state.u[i] = (weight * (before + tau * div[i]) + tau * f[i]) / (weight + tau);
      bar[i] = state.u[i] + theta * (state.u[i] - before);
    }
    tau *= theta;
    sigma /= theta;
  }
}

void evaluate(const Lattice& lattice, const Image& f, const Image& w, double lambda, PrimalDual& state) {
  Field q = state.q;
  const Field d = gradient(lattice, state.u);
  double variation = 0, data = 0;
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (weight_at(w, i) == 0 && largest_ahead(lattice, w, i) == 0) {
      for (auto& component : q) component[i] = 0;
      continue;
    }
    variation += std::sqrt(d[0][i] * d[0][i] + d[1][i] * d[1][i] + d[2][i] * d[2][i]);
    const double change = state.u[i] - f[i];
    if (weight_at(w, i) > 0) data += change * change / weight_at(w, i);
  }
  const Image div = divergence(lattice, q);
  state.primal = data / 2 + lambda * variation;
  state.dual = 0;
  for (std::size_t i = 0; i < f.size(); ++i) state.dual -= f[i] * div[i] + weight_at(w, i) * div[i] * div[i] / 2;
}

// Backward differences divided by the spacing, 0 on the near faces.
Field backward(const Lattice& lattice, const Image& u) {
  Field d;
  for (int axis = 0; axis < 3; ++axis) {
    d[axis].assign(u.size(), 0.0);
    for (std::size_t i = 0; i < u.size(); ++i)
      if (lattice.position(i, axis) > 0) d[axis][i] = (u[i] - u[i - lattice.stride(axis)]) / lattice.spacing[axis];
  }
  return d;
}

Image roots(const Field& d, double epsilon, const Field& c = {}) {
  Image result(d[0].size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    double sum = epsilon * epsilon;
    for (int axis = 0; axis < 3; ++axis) sum += weight_at(c[axis], i) * d[axis][i] * d[axis][i];
    result[i] = std::sqrt(sum);
  }
  return result;
}

}  // namespace

Lattice lattice_of(const Volume& volume) {
  return {volume.grid.size, volume.grid.spacing};
}

Image image_of(const Volume& volume) {
  return {volume.voxels.begin(), volume.voxels.end()};
}

Field gradient(const Lattice& lattice, const Image& u) {
  Field d;
  for (int axis = 0; axis < 3; ++axis) {
    d[axis].assign(u.size(), 0.0);
    for (std::size_t i = 0; i < u.size(); ++i)
      if (lattice.position(i, axis) + 1 < lattice.size[axis])
        d[axis][i] = (u[i + lattice.stride(axis)] - u[i]) / lattice.spacing[axis];
  }
  return d;
}

Image divergence(const Lattice& lattice, const Field& q) {
  Image result(q[0].size(), 0.0);
  for (int axis = 0; axis < 3; ++axis)
    for (std::size_t i = 0; i < result.size(); ++i)
      if (lattice.position(i, axis) + 1 < lattice.size[axis]) {
        result[i] += q[axis][i] / lattice.spacing[axis];
        result[i + lattice.stride(axis)] -= q[axis][i] / lattice.spacing[axis];
      }
  return result;
}

double inner(const Image& a, const Image& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double inner(const Field& a, const Field& b) {
  return inner(a[0], b[0]) + inner(a[1], b[1]) + inner(a[2], b[2]);
}

double total_variation(const Lattice& lattice, const Image& u) {
  const Image lengths = roots(gradient(lattice, u), 0);
  return std::accumulate(lengths.begin(), lengths.end(), 0.0);
}

PrimalDual primal_dual(const Lattice& lattice, const Image& f, const Image& w, double lambda, Schedule schedule,
                       int iterations) {
  PrimalDual state;
  state.u = f;
  for (auto& component : state.q) component.assign(f.size(), 0.0);
  if (schedule == Schedule::chambolle_pock) chambolle_pock(lattice, f, w, lambda, iterations, state);
  const Image steps = dual_steps(lattice, w);
  for (int k = 0; k < iterations; ++k) {
    if (schedule == Schedule::seed) {
      const double tau = 0.3 + 0.02 * k;
      primal_step(lattice, f, w, state.q, (1.0 / 6 - 5.0 / (15 + k)) / tau, state.u);
      dual_step(lattice, state.u, {}, lambda * tau, lambda, state.q);
    } else if (schedule != Schedule::chambolle_pock) {
      const bool theirs = schedule == Schedule::zhu_chan;
      const double m = std::min(k, 500), sigma = theirs ? 2.4 + 0.96 * m : 2.5 + 0.8 * m;
      dual_step(lattice, state.u, steps, sigma, lambda, state.q);
      primal_step(lattice, f, w, state.q, 4 * (1 - (theirs ? 10 / (15 + m) : 3 / (6 + m))) / sigma, state.u);
    }
  }
  evaluate(lattice, f, w, lambda, state);
  return state;
}

double smoothed_variation(const Lattice& lattice, const Image& u, double epsilon, const Field& c) {
  const Image lengths = roots(backward(lattice, u), epsilon, c);
  return std::accumulate(lengths.begin(), lengths.end(), 0.0);
}

Image smoothed_variation_gradient(const Lattice& lattice, const Image& u, double epsilon, const Field& c) {
  const Field d = backward(lattice, u);
  const Image lengths = roots(d, epsilon, c);
  Image result(u.size(), 0.0);
  for (int axis = 0; axis < 3; ++axis)
    for (std::size_t i = 0; i < u.size(); ++i)
      if (lattice.position(i, axis) > 0) {
        const double part = weight_at(c[axis], i) * d[axis][i] / lengths[i] / lattice.spacing[axis];
        result[i] += part;
        result[i - lattice.stride(axis)] -= part;
      }
  return result;
}

Field adaptive_weights(const Lattice& lattice, const Image& u, double delta) {
  Field result = backward(lattice, u);
  for (auto& component : result)
    for (double& value : component) value = std::exp(-std::pow(value / delta, 2));
  return result;
}

Image tv_descent(const Lattice& lattice, Image u, double epsilon, double step, int iterations,
                 const DescentVariant& variant) {
  for (int k = 0; k < iterations; ++k) {
    Image g = smoothed_variation_gradient(lattice, u, epsilon, adaptive_weights(lattice, u, variant.delta));
    for (std::size_t i = 0; i < u.size(); ++i) g[i] *= std::sqrt(weight_at(variant.w, i));
    const double norm = std::sqrt(inner(g, g));
    for (std::size_t i = 0; i < u.size(); ++i) u[i] -= step * std::sqrt(static_cast<double>(u.size())) * g[i] / norm;
  }
  return u;
}

Volume two_balls(std::size_t n, double noise, unsigned seed, const Volume* weights) {
  Grid grid{.size = {n, n, n}};
  Volume volume(grid);
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  const double length = static_cast<double>(n);
  const auto inside = [&](double x, double y, double z, double cx, double radius) {
    return std::hypot(x - cx * length, y - 0.5 * length, z - 0.5 * length) < radius * length;
  };
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; ++i) {
        const auto x = static_cast<double>(i), y = static_cast<double>(j), z = static_cast<double>(k);
        const double value = inside(x, y, z, 0.35, 0.2) ? 1.5 : inside(x, y, z, 0.5, 0.45) ? 1 : 0;
        const double scale = weights != nullptr ? std::sqrt(weights->at(i, j, k)) : 1;
        volume.at(i, j, k) = static_cast<float>(value + noise * scale * normal(generator));
      }
  return volume;
}

Volume weights_with_holes(const Grid& grid) {
  Volume w(grid);
  std::mt19937 generator(12);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::size_t n = 0; n < w.voxels.size(); ++n) {
    const std::size_t i = n % grid.size[0], j = n / grid.size[0] % grid.size[1], k = n / grid.slice();
    w.voxels[n] = std::pow(3.0f, uniform(generator));
    if ((i < grid.size[0] / 3 && 2 * k < grid.size[2]) || (i + j + k) % 7 == 0) w.voxels[n] = 0;
  }
  return w;
}

Grid grid_of(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing) {
  return {.size = size, .spacing = spacing};
}

Volume ramp_weights(std::size_t n) {
  Grid grid{.size = {n, n, n}};
  Volume volume(grid);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::pow(70.0, static_cast<double>(i) / static_cast<double>(n) - 0.5);
  for (std::size_t m = 0; m < volume.voxels.size(); ++m)
    volume.voxels[m] = static_cast<float>(std::pow(70.0, static_cast<double>(m % n) / static_cast<double>(n) - 0.5) *
                                          static_cast<double>(n) / sum);
  return volume;
}

}  // namespace halocline::reference
