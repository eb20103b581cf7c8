#include "tests/reference/frames_reference.hpp"

#include <algorithm>
#include <cmath>

namespace halocline::reference {
namespace {

double bound(const Lattice4& lattice) {
  double sum = 0;
  for (int axis = 0; axis < 4; ++axis)
    if (lattice.size[axis] > 1) sum += 4 / (lattice.spacing[axis] * lattice.spacing[axis]);
  return sum;
}

double length(const Field4& d, std::size_t i) {
  double sum = 0;
  for (const auto& component : d) sum += component[i] * component[i];
  return std::sqrt(sum);
}

void dual_step(const Lattice4& lattice, const Image& u, double step, double lambda, Field4& q) {
  const Field4 d = gradient(lattice, u);
  for (std::size_t i = 0; i < u.size(); ++i) {
    for (int axis = 0; axis < 4; ++axis) q[axis][i] += step * d[axis][i];
    const double norm = length(q, i);
    if (norm > lambda)
      for (auto& component : q) component[i] *= lambda / norm;
  }
}

}  // namespace

std::size_t Lattice4::stride(int axis) const {
  std::size_t result = 1;
  for (int n = 0; n < axis; ++n) result *= size[n];
  return result;
}

Field4 gradient(const Lattice4& lattice, const Image& u) {
  Field4 d;
  for (int axis = 0; axis < 4; ++axis) {
    d[axis].assign(u.size(), 0.0);
    for (std::size_t i = 0; i < u.size(); ++i)
      if (lattice.position(i, axis) + 1 < lattice.size[axis])
        d[axis][i] = (u[i + lattice.stride(axis)] - u[i]) / lattice.spacing[axis];
  }
  return d;
}

Image divergence(const Lattice4& lattice, const Field4& q) {
  Image result(q[0].size(), 0.0);
  for (int axis = 0; axis < 4; ++axis)
    for (std::size_t i = 0; i < result.size(); ++i)
      if (lattice.position(i, axis) + 1 < lattice.size[axis]) {
        result[i] += q[axis][i] / lattice.spacing[axis];
        result[i + lattice.stride(axis)] -= q[axis][i] / lattice.spacing[axis];
      }
  return result;
}

PrimalDual4 primal_dual(const Lattice4& lattice, const Image& f, double lambda, Schedule schedule, int iterations) {
  PrimalDual4 state;
  state.u = f;
  for (auto& component : state.q) component.assign(f.size(), 0.0);
  Image bar = f;
  double tau = 1, sigma = bound(lattice) > 0 ? 1 / bound(lattice) : 0;
  const bool standard = schedule != Schedule::chambolle_pock;
  for (const Steps& steps : make_steps(schedule, iterations, 1, 1)) {
    const double step = standard ? steps.dual / std::max(bound(lattice), 1e-300) : sigma;
    dual_step(lattice, standard ? state.u : bar, step, lambda, state.q);
    const Image div = divergence(lattice, state.q);
    const double theta = standard ? steps.primal : tau / (1 + tau);
    const double extrapolation = 1 / std::sqrt(1 + 2 * tau);
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double before = state.u[i];
      state.u[i] += theta * (f[i] + div[i] - before);
      bar[i] = state.u[i] + extrapolation * (state.u[i] - before);
    }
    tau *= extrapolation;
    sigma /= extrapolation;
  }
  const Field4 d = gradient(lattice, state.u);
  const Image div = divergence(lattice, state.q);
  for (std::size_t i = 0; i < f.size(); ++i) {
    state.primal += (state.u[i] - f[i]) * (state.u[i] - f[i]) / 2 + lambda * length(d, i);
    state.dual -= f[i] * div[i] + div[i] * div[i] / 2;
  }
  return state;
}

}  // namespace halocline::reference
