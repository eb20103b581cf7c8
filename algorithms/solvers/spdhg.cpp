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

std::shared_ptr<const PassOrder> drawn_order(const ReconstructionProblem& problem) {
  return std::make_shared<const PassOrder>(problem.subsets, problem.parameters.passes, [&](int pass) {
    return problem.subsets.permutation(problem.parameters.seed, static_cast<std::uint64_t>(pass));
  });
}

// 1 where f holds the last subset's change of z; a look has added it and written over it, and z computed again has it.
double carry(const PassOrder& order, const Scalars& known) {
  const int pass = order.pass(known);
  return order.begins_pass(known) && (pass % passes_to_look == 0 || pass % refreshed == 0) ? 0 : 1;
}

class Spdhg : public Penalised {
 public:
  explicit Spdhg(const ReconstructionProblem& problem) : Penalised("spdhg", problem, drawn_order(problem)) {}

  Program made() {
    first([this] { begin(); });
    each([this] { iterate(); });
    certificate_.end([this] { look(); });
    return finish();
  }

 private:
  void begin() {
    find_steps(safety / (eta_of(0) * subsets_.count()), f_);
    begin_image();
    r_ = A * x;
    r_ = misfit(r_);
    if (!given.near_minimum) return;
    z_ = adjoint(A) * r_;
    certificate_.start_dual();
  }

  void iterate() {
    const auto order = order_;
    const Scalar slower = number([order](const Scalars& known) {
      const int pass = order->pass(known);
      return pass > 0 ? eta_of(pass - 1) / eta_of(pass) : 1.0;
    });
    const Scalar factor = number([order](const Scalars& known) {
      const double eta = eta_of(order->pass(known));
      return eta / (1 + eta);
    });
    when([order](const Scalars& known) { return order->begins_pass(known); }, [&] { tau_ = slower * tau_; });
    when([order](const Scalars& known) { return order->begins_pass(known) && order->pass(known) % refreshed == 0; },
         [&] { z_ = adjoint(A) * r_; });
    penalty_.prox_from(
        z_, f_, tau_, x, u_bar_, [order](const Scalars& known) { return carry(*order, known); },
        [order, count = subsets_.count()](const Scalars& known) { return carry(*order, known) * count; });
    over_subset([&] {
      p_ = fast_A * x;
      p_ = w.empty() ? Array(factor * (p_ - b - r_)) : Array(factor * fma(w, p_ - b, -r_));
      r_ += p_;
      f_ = adjoint(A) * p_;
    });
    when([order](const Scalars& known) { return order->ends_every(passes_to_look, known); }, [&] { look(); });
  }

  // z gets what is in f, which a look writes over.
  void look() {
    z_ += f_;
    certificate_.look();
  }

  // z is A^T r, but for what is in f, A_s^T of the last change of r
  Array z_ = volume("z", Lifetime::state, true), f_ = volume("f", Lifetime::state, true);
  Array u_bar_ = volume("ubar", Lifetime::iteration), r_ = projections("r", Lifetime::state);
  Certificate certificate_{*this, A, penalty_, certificate_parameters(), {x, z_, f_, u_bar_, p_, r_, b, w}};
};

// Takes half the views up to 30, beyond that a sixteenth up to 60, which keeps the work on the image below a quarter of
// the projections'.
int spdhg_subsets(int views) {
  return std::clamp(views / 2, 1, std::clamp(views / 16, 30, 60));
}

}  // namespace

constinit const SolverMethod spdhg_method{
    .name = "spdhg",
    .about = "weighted least squares with total variation and bounds, to the minimum with a certificate",
    .passes = 100,
    .weights = true,
    .start = true,
    .bounds = true,
    .penalty = true,
    .seed = true,
    .fast = true,
    .subsets = true,
    .default_subsets = spdhg_subsets,
    .adjoint = true,
    .gathered = "duals",
    .program = [](const ReconstructionProblem& problem) { return Spdhg(problem).made(); }};

}  // namespace halocline
