// SPDHG: penalised weighted least squares by stochastic primal-dual iterations (Chambolle, Ehrhardt, Richtarik &
// Schonlieb 2018) with diagonal steps from the statistics (sigma = eta w, tau = 0.99 / (eta S max_s A_s^T W A_s 1), so
// that the step condition holds for every eta). The total variation has a separate dual, which takes a step with every
// subset, from the extrapolated x. In pass k eta = max(0.05, 3 / (k + 4)), and every subset is used once, in an order
// that is drawn from (seed, k). There is no parameter to choose.
#include "algorithms/solvers/penalised.hpp"

namespace halocline {
namespace {

constexpr double safety = 0.99;  // of the step condition
constexpr int refreshed = 10;    // passes after which z = A^T r is computed again: float32 sums drift
constexpr int passes_to_look = 5;

double eta_of(int pass) {
  return std::max(0.05, 3.0 / (pass + 4));
}

Program spdhg(const ReconstructionProblem& problem) {
  Penalised s("spdhg", problem, [&](int pass) {
    return problem.subsets.permutation(problem.parameters.seed, static_cast<std::uint64_t>(pass));
  });
  // z is A^T r, but for what is in f, A_s^T of the last change of r
  Array z = s.volume("z", Lifetime::state, true), f = s.volume("f", Lifetime::state, true);
  Array u_bar = s.volume("ubar", Lifetime::iteration), r = s.projections("r", Lifetime::state);
  Certificate certificate(s, s.penalty, {z, f, u_bar, s.p, r});
  const auto look = [&] {  // writes over f
    z += f;
    certificate.look();
  };
  const Scalar slower = s.by_pass([](int pass) { return pass > 0 ? eta_of(pass - 1) / eta_of(pass) : 1.0; });
  const Scalar factor = s.by_pass([](int pass) { return eta_of(pass) / (1 + eta_of(pass)); });
  const Scalar carry = s.one_where([renewed = s.begins_every(refreshed)](const Scalars& known) {
    const bool looked = known.at("certified") == known.at(iteration_scalar) - 1;
    return !looked && !renewed(known);  // else z has what is in f
  });
  s.first([&] {
    s.find_steps(safety / (eta_of(0) * s.subsets), f);
    s.begin_image();
    r = s.A * s.x;
    r = s.misfit(r);
    if (!s.given.near_minimum) return;
    z = adjoint(s.A) * r;
    certificate.start_dual();
  });
  s.each([&] {
    s.when(s.begins_every(1), [&] { s.tau = slower * s.tau; });
    s.when(s.begins_every(refreshed), [&] { z = adjoint(s.A) * r; });
    s.penalty.prox_from(z, f, s.tau, s.x, u_bar, carry, s.subsets * carry);
    s.over_subset([&] {
      s.p = s.fast_A * s.x;
      s.p = s.w.empty() ? Array(factor * (s.p - s.b - r)) : Array(factor * fma(s.w, s.p - s.b, -r));
      r += s.p;
      f = adjoint(s.fast_A) * s.p;
    });
    s.when(certificate.due(s.ends_earlier_pass(), passes_to_look * s.subsets), look);
  });
  certificate.end(look);
  return s.finish();
}

// Takes half the views up to 30, beyond that a sixteenth up to 60, which keeps the work on the image below a quarter of
// the projections'.
int spdhg_subsets(int views) {
  return std::clamp(views / 2, 1, std::clamp(views / 16, 30, 60));
}

}  // namespace

constinit const SolverMethod spdhg_method = penalised_method(
    {.name = "spdhg",
     .about = "weighted least squares with total variation and bounds, to the minimum with a certificate",
     .passes = 100,
     .seed = true,
     .subsets = true,
     .default_subsets = spdhg_subsets,
     .gathered = "duals",
     .program = spdhg});

}  // namespace halocline
