#include "tests/reference/penalised_reference.hpp"

#include <algorithm>
#include <cmath>

namespace halocline::reference {
namespace {

void tell(const Look& look, int k, const Vector& x) {
  if (look) look(k, x);
}

// visit(i, far): voxel i and, for each axis, whether it is on the far face.
template <class Visit>
void visit_voxels(const Lattice& lattice, Visit&& visit) {
  const auto& [nx, ny, nz] = lattice.size;
  std::size_t i = 0;
  for (std::size_t z = 0; z < nz; ++z)
    for (std::size_t y = 0; y < ny; ++y)
      for (std::size_t x = 0; x < nx; ++x, ++i) visit(i, std::array<bool, 3>{x + 1 == nx, y + 1 == ny, z + 1 == nz});
}

// x - A^T W (A x - b) / d
Vector gradient_step(const Penalised& problem, const Vector& x, const Vector& tau) {
  return minus(x, product(problem.A.transposed_times(problem.residual(x)), tau));
}

}  // namespace

double Penalised::value(const Vector& x) const {
  const Vector misfit = minus(A.times(x), b);
  return 0.5 * dot(product(misfit, w), misfit) + lambda * total_variation(lattice, x);
}

Vector Penalised::residual(const Vector& x) const {
  return product(minus(A.times(x), b), w);
}

Vector Penalised::majoriser() const {
  return A.transposed_times(product(A.row_sums(), w));
}

double Penalised::dual_value(const Vector& r, const Field& q) const {
  double value = -dot(r, b);
  for (std::size_t j = 0; j < r.size(); ++j)
    if (r[j] != 0) value -= 0.5 * r[j] * r[j] / w[j];
  const Vector z = minus(A.transposed_times(r), divergence(lattice, q));
  for (const double each : z)
    if (each != 0) value += each * (each > 0 ? lower : upper);
  return value;
}

double gradient_norm_squared(const Lattice& lattice) {
  double result = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (lattice.size[axis] > 1) result += 4 / (lattice.spacing[axis] * lattice.spacing[axis]);
  return result;
}

TvProx::TvProx(const Lattice& lattice, double lambda, double lower, double upper)
    : lattice_(lattice), lambda_(lambda), lower_(lower), upper_(upper) {
  q_.fill(Image(lattice.count(), 0.0));
}

void TvProx::set_tau(const Vector& tau) {
  tau_ = tau;
  step_.resize(tau.size());
  visit_voxels(lattice_, [&](std::size_t i, const std::array<bool, 3>& far) {
    double ahead = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (!far[axis]) ahead = std::max(ahead, tau[i + lattice_.stride(axis)]);
    step_[i] = 2 / (gradient_norm_squared(lattice_) * (tau[i] + ahead));
  });
}

void TvProx::dual(const Vector& u) {
  visit_voxels(lattice_, [&](std::size_t i, const std::array<bool, 3>& far) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) {
      if (!far[axis]) q_[axis][i] += step_[i] * (u[i + lattice_.stride(axis)] - u[i]) / lattice_.spacing[axis];
      square += q_[axis][i] * q_[axis][i];
    }
    if (square > lambda_ * lambda_)
      for (auto& component : q_) component[i] *= lambda_ / std::sqrt(square);
  });
}

void TvProx::primal(const Vector& f, Vector& u) const {
  std::array<std::size_t, 3> n{};
  const auto& size = lattice_.size;
  std::size_t i = 0;
  for (n[2] = 0; n[2] < size[2]; ++n[2])
    for (n[1] = 0; n[1] < size[1]; ++n[1])
      for (n[0] = 0; n[0] < size[0]; ++n[0], ++i) {
        double div = 0;
        for (int axis = 0; axis < 3; ++axis) {
          if (n[axis] + 1 < size[axis]) div += q_[axis][i] / lattice_.spacing[axis];
          if (n[axis] > 0) div -= q_[axis][i - lattice_.stride(axis)] / lattice_.spacing[axis];
        }
        u[i] = std::clamp(f[i] + tau_[i] * div, lower_, upper_);
      }
}

void TvProx::iterate(const Vector& f, Vector& u, int iterations) {
  for (int k = 0; k < iterations; ++k) {
    dual(u);
    primal(f, u);
  }
}

Vector proximal_gradient(const Penalised& problem, Vector x, int iterations, int inner, const Look& look) {
  const Vector tau = inverse(problem.majoriser());
  TvProx prox(problem.lattice, problem.lambda, problem.lower, problem.upper);
  prox.set_tau(tau);
  for (int k = 1; k <= iterations; ++k) {
    const Vector f = gradient_step(problem, x, tau);
    prox.primal(f, x);
    prox.iterate(f, x, inner);
    tell(look, k, x);
  }
  return x;
}

Vector fista(const Penalised& problem, Vector x, int iterations, int inner, bool restart, const Look& look) {
  const Vector d = problem.majoriser(), tau = inverse(d);
  TvProx prox(problem.lattice, problem.lambda, problem.lower, problem.upper);
  prox.set_tau(tau);
  Vector y = x;
  double t = 1;
  for (int k = 1; k <= iterations; ++k) {
    const Vector f = gradient_step(problem, y, tau);
    Vector next = y;
    prox.primal(f, next);
    prox.iterate(f, next, inner);
    if (restart && dot(product(minus(y, next), d), minus(next, x)) > 0) {
      t = 1;
      y = next;
    } else {
      const double grown = (1 + std::sqrt(1 + 4 * t * t)) / 2;
      y = plus(next, (t - 1) / grown, minus(next, x));
      t = grown;
    }
    x = std::move(next);
    tell(look, k, x);
  }
  return x;
}

Vector gradient(const LeastSquares& problem, int iterations, bool momentum, bool restart, const Bounds& bounds) {
  const Penalised penalised{
      problem.A, problem.b,      problem.w,     {.size = {problem.x.size(), 1, 1}, .spacing = {1, 1, 1}},
      0,         bounds.minimum, bounds.maximum};
  const Vector start = clamped(problem.x, bounds);
  return momentum ? fista(penalised, start, iterations, 0, restart)
                  : proximal_gradient(penalised, start, iterations, 0);
}

Spdhg spdhg(const Penalised& problem, const RaySubsets& subsets, const Vector& start, const SpdhgRun& run) {
  struct Subset {
    RayMatrix A;
    std::vector<std::size_t> rays;
  };
  std::vector<Subset> parts;
  Vector most(start.size(), 0.0);
  for (const auto& rays : subsets) {
    parts.push_back({problem.A.of_rows(rays), rays});
    Vector w;
    for (const std::size_t ray : rays) w.push_back(problem.w[ray]);
    const Vector d = parts.back().A.transposed_times(product(parts.back().A.row_sums(), w));
    for (std::size_t i = 0; i < d.size(); ++i) most[i] = std::max(most[i], d[i]);
  }
  const double unseen = 0.1 * *std::max_element(most.begin(), most.end());
  for (double& each : most)
    if (each == 0) each = unseen;

  const auto count = static_cast<double>(subsets.size());
  Spdhg state{start, problem.residual(start), {}, {}};
  state.z = problem.A.transposed_times(state.r);
  Vector ahead = state.z;
  TvProx prox(problem.lattice, problem.lambda, problem.lower, problem.upper);
  for (int pass = 0; pass < run.passes; ++pass) {
    const double eta = std::max(0.05, 3.0 / (pass + 4));
    Vector tau = inverse(most);
    for (double& each : tau) each *= 0.99 / (eta * count);
    prox.set_tau(tau);
    for (const int s : run.order(pass)) {
      const auto& [A, rays] = parts[static_cast<std::size_t>(s)];
      const Vector f = minus(state.x, product(tau, ahead));
      if (run.inner > 0) {
        prox.iterate(f, state.x, run.inner);
      } else {
        const Vector before = state.x;
        prox.primal(f, state.x);
        prox.dual(minus(plus(state.x, 1, state.x), before));
      }
      Vector change = A.times(state.x);
      for (std::size_t n = 0; n < rays.size(); ++n) {
        const std::size_t ray = rays[n];
        const double next = (state.r[ray] + eta * problem.w[ray] * (change[n] - problem.b[ray])) / (1 + eta);
        change[n] = next - state.r[ray];
        state.r[ray] = next;
      }
      const Vector delta = A.transposed_times(change);
      state.z = plus(std::move(state.z), 1, delta);
      ahead = plus(state.z, count, delta);
    }
    if (run.look) {
      state.q = prox.q();
      run.look(pass + 1, state);
    }
  }
  state.q = prox.q();
  return state;
}

Field polished(const Penalised& problem, const Spdhg& state, int iterations) {
  if (problem.lambda == 0) return state.q;
  const auto& spacing = problem.lattice.spacing;
  const double tau =
      0.3 * (problem.upper - problem.lower) * *std::min_element(spacing.begin(), spacing.end()) / problem.lambda;
  TvProx steps(problem.lattice, problem.lambda, problem.lower, problem.upper);
  steps.set_tau(Vector(state.x.size(), tau));
  steps.set_q(state.q);
  Vector u = state.x, next = u;
  for (int k = 0; k < iterations; ++k) {
    steps.primal(plus(u, -tau, state.z), next);
    steps.dual(plus(next, 1, minus(next, u)));
    u = next;
  }
  return steps.q();
}

}  // namespace halocline::reference
