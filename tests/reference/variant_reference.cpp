#include "tests/reference/variant_reference.hpp"

#include <algorithm>
#include <cmath>

namespace halocline::reference {
namespace {

double weight_at(const VariantProblem& problem, std::size_t i) {
  return problem.w.empty() ? 1 : problem.w[i];
}

// True if its term counts: some voxel of it can move.
bool counts(const VariantProblem& problem, std::size_t i) {
  if (weight_at(problem, i) > 0) return true;
  for (int axis = 0; axis < 3; ++axis)
    if (problem.lattice.position(i, axis) + 1 < problem.lattice.size[axis] &&
        weight_at(problem, i + problem.lattice.stride(axis)) > 0)
      return true;
  return false;
}

double cut(const VariantProblem& problem, double value) {
  return std::min(std::max(value, problem.regulariser.minimum), problem.regulariser.maximum);
}

// P applied at every voxel.
void take_off_edges(const VariantProblem& problem, Field& d) {
  if (!problem.regulariser.guided) return;
  const Field edges = gradient(problem.lattice, problem.reference);
  const double eta = problem.regulariser.reference_eta.value();
  const double gamma = problem.regulariser.reference_strength.value_or(1);
  for (std::size_t i = 0; i < problem.f.size(); ++i) {
    double length2 = eta * eta, along = 0;
    for (int axis = 0; axis < 3; ++axis) {
      length2 += edges[axis][i] * edges[axis][i];
      along += edges[axis][i] * d[axis][i];
    }
    for (int axis = 0; axis < 3; ++axis) d[axis][i] -= gamma * edges[axis][i] * along / length2;
  }
}

double phi(const Regulariser& regulariser, double x, double y, double z) {
  if (regulariser.variation == Variation::anisotropic) return std::abs(x) + std::abs(y) + std::abs(z);
  const double length = std::sqrt(x * x + y * y + z * z);
  if (regulariser.variation == Variation::isotropic) return length;
  const double delta = regulariser.huber_delta.value();
  return length <= delta ? length * length / (2 * delta) : length - delta / 2;
}

// The proximal map of sigma times the conjugate of lambda phi.
void proximal(const VariantProblem& problem, double sigma, std::size_t i, Field& q) {
  const double lambda = problem.lambda;
  if (problem.regulariser.variation == Variation::anisotropic) {
    for (auto& component : q) component[i] = std::clamp(component[i], -lambda, lambda);
    return;
  }
  if (problem.regulariser.variation == Variation::huber)
    for (auto& component : q) component[i] /= 1 + sigma * problem.regulariser.huber_delta.value() / lambda;
  const double length = std::sqrt(q[0][i] * q[0][i] + q[1][i] * q[1][i] + q[2][i] * q[2][i]);
  if (length > lambda)
    for (auto& component : q) component[i] *= lambda / length;
}

double inverse_squares(const Lattice& lattice) {
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (lattice.size[axis] > 1) sum += 1 / (lattice.spacing[axis] * lattice.spacing[axis]);
  return sum;
}

// Factor of q's step at voxel i in the standard schedule.
double standard_step(const VariantProblem& problem, std::size_t i) {
  const double squares = inverse_squares(problem.lattice);
  if (squares == 0) return problem.w.empty() ? 1 : 2 / weight_at(problem, i);
  if (problem.w.empty()) return 1 / (4 * squares);
  double ahead = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (problem.lattice.position(i, axis) + 1 < problem.lattice.size[axis])
      ahead = std::max(ahead, problem.w[i + problem.lattice.stride(axis)]);
  const double sum = problem.w[i] + ahead;
  return sum > 0 ? 1 / (2 * sum * squares) : 0;
}

void dual_step(const VariantProblem& problem, const Image& u, double sigma, bool standard, Field& q) {
  const Field d = variant_gradient(problem, u);
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double step = sigma * (standard ? standard_step(problem, i) : 1);
    for (int axis = 0; axis < 3; ++axis) q[axis][i] += step * d[axis][i];
    proximal(problem, step, i, q);
  }
}

void primal_step(const VariantProblem& problem, const Field& q, double theta, Image& u) {
  const Image div = variant_divergence(problem, q);
  for (std::size_t i = 0; i < u.size(); ++i)
    u[i] = cut(problem, weight_at(problem, i) > 0
                            ? (1 - theta) * u[i] + theta * (problem.f[i] + weight_at(problem, i) * div[i])
                            : problem.f[i]);
}

void chambolle_pock(const VariantProblem& problem, int iterations, PrimalDual& state) {
  const double norm2 = 4 * inverse_squares(problem.lattice);
  const double gamma = problem.w.empty() ? 1 : 1 / *std::max_element(problem.w.begin(), problem.w.end());
  double tau = 1 / gamma, sigma = norm2 > 0 ? 1 / (tau * norm2) : 0;
  Image bar = state.u;
  for (int k = 0; k < iterations; ++k) {
    dual_step(problem, bar, sigma, false, state.q);
    const Image div = variant_divergence(problem, state.q);
    const double theta = 1 / std::sqrt(1 + 2 * gamma * tau);
    for (std::size_t i = 0; i < bar.size(); ++i) {
      const double weight = weight_at(problem, i), before = state.u[i];
      state.u[i] = cut(problem, (weight * (before + tau * div[i]) + tau * problem.f[i]) / (weight + tau));
      bar[i] = state.u[i] + theta * (state.u[i] - before);
    }
    tau *= theta;
    sigma /= theta;
  }
}

Regulariser with(void (*change)(Regulariser&)) {
  Regulariser regulariser;
  change(regulariser);
  return regulariser;
}

}  // namespace

Field variant_gradient(const VariantProblem& problem, const Image& u) {
  Field d = gradient(problem.lattice, u);
  take_off_edges(problem, d);
  return d;
}

Image variant_divergence(const VariantProblem& problem, const Field& q) {
  Field kept = q;
  take_off_edges(problem, kept);
  return divergence(problem.lattice, kept);
}

double variant_primal(const VariantProblem& problem, const Image& u) {
  const Field d = variant_gradient(problem, u);
  double variation = 0, data = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    if (counts(problem, i)) variation += phi(problem.regulariser, d[0][i], d[1][i], d[2][i]);
    const double change = u[i] - problem.f[i], weight = weight_at(problem, i);
    if (weight > 0) data += change * change / weight;
  }
  return data / 2 + problem.lambda * variation;
}

double variant_dual(const VariantProblem& problem, const Field& q) {
  Field counted = q;
  for (std::size_t i = 0; i < problem.f.size(); ++i)
    if (!counts(problem, i))
      for (auto& component : counted) component[i] = 0;
  const Image div = variant_divergence(problem, counted);
  double value = 0;
  for (std::size_t i = 0; i < problem.f.size(); ++i) {
    const double weight = weight_at(problem, i), f = problem.f[i];
    const double best = cut(problem, f + weight * div[i]);
    value += (weight > 0 ? (best - f) * (best - f) / (2 * weight) : 0) - best * div[i];
    if (problem.regulariser.variation == Variation::huber)
      for (const auto& component : counted)
        value -= problem.regulariser.huber_delta.value() / (2 * problem.lambda) * component[i] * component[i];
  }
  return value;
}

PrimalDual variant_primal_dual(const VariantProblem& problem, Schedule schedule, int iterations) {
  PrimalDual state;
  state.u = problem.f;
  for (auto& component : state.q) component.assign(problem.f.size(), 0.0);
  if (schedule == Schedule::chambolle_pock) chambolle_pock(problem, iterations, state);
  const auto steps = make_steps(schedule, iterations, 1, 1);  // where they depend on neither
  for (const Steps& step : steps) {
    if (schedule == Schedule::chambolle_pock) break;
    if (schedule == Schedule::seed) {
      primal_step(problem, state.q, step.primal, state.u);
      dual_step(problem, state.u, problem.lambda * step.dual, false, state.q);
    } else {
      dual_step(problem, state.u, step.dual, true, state.q);
      primal_step(problem, state.q, step.primal, state.u);
    }
  }
  state.primal = variant_primal(problem, state.u);
  state.dual = variant_dual(problem, state.q);
  return state;
}

const std::vector<NamedRegulariser>& regularisers() {
  static const std::vector<NamedRegulariser> all{
      {"anisotropic", with([](Regulariser& r) { r.variation = Variation::anisotropic; })},
      {"huber", with([](Regulariser& r) { r.variation = Variation::huber, r.huber_delta = 0.05; })},
      {"nonnegative", with([](Regulariser& r) { r.minimum = 0; })},
      {"boxed", with([](Regulariser& r) { r.minimum = 0.1, r.maximum = 0.9; })},
      {"guided", with([](Regulariser& r) { r.guided = true, r.reference_eta = 0.3, r.reference_strength = 0.95; })},
      {"guided_huber_boxed", with([](Regulariser& r) {
         r.variation = Variation::huber, r.huber_delta = 0.05;
         r.minimum = 0.1, r.maximum = 0.9;
         r.guided = true, r.reference_eta = 0.3;
       })},
      {"guided_anisotropic", with([](Regulariser& r) {
         r.variation = Variation::anisotropic;
         r.guided = true, r.reference_eta = 0.3;
       })}};
  return all;
}

const std::vector<NamedDescent>& descents() {
  static const std::vector<NamedDescent> all{
      {"adaptive", 0.4, false}, {"statistical", std::nullopt, true}, {"adaptive_statistical", 0.4, true}};
  return all;
}

}  // namespace halocline::reference
