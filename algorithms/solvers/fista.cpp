// FISTA: penalised weighted least squares by accelerated gradient steps (Beck & Teboulle 2009): with d = A^T W A 1, for
// which A^T W A <= diag d (Erdogan & Fessler 1999),
//   x+ = prox(y - d^-1 g),  g = S A_s^T W_s (A_s y - b_s),  y = x+ + (t - 1) / t+ (x+ - x),
//   t+ = (1 + sqrt(1 + 4 t^2)) / 2.
// With all views in each step the momentum restarts where <d (y - x+), x+ - x> > 0 (O'Donoghue & Candes 2015). With S >
// 1 subsets in bit-reversed order (Kim, Ramani & Fessler 2015) the first passes are faster, and the iterates end near
// the minimum, not at it. Their d is S max_s A_s^T W A_s 1, which bounds each subset's share, so that steps without
// momentum bring no two images farther apart. Momentum may amplify what subsets of few views lack of the whole: where a
// look sees so, they go back to the image of the least objective so far (BestIterate), and on without it. The proximal
// operator is a few warm iterations of S-PDU.
#include <optional>

#include "algorithms/solvers/best_iterate.hpp"
#include "algorithms/solvers/penalised.hpp"

namespace halocline {
namespace {

std::shared_ptr<const PassOrder> reversed_order(const ReconstructionProblem& problem) {
  return std::make_shared<const PassOrder>(problem.subsets, problem.parameters.passes,
                                           [&](int) { return problem.subsets.bit_reversed(); });
}

class Fista : public Penalised {
 public:
  /// prox_steps: iterations of S-PDU a gradient step. every: passes between two looks.
  Fista(const ReconstructionProblem& problem, int prox_steps, int every)
      : Penalised(problem.subsets.count() > 1 ? "os-fista" : "fista", problem, reversed_order(problem)),
        prox_steps_(prox_steps),
        every_(every) {
    if (may_diverge()) best_.emplace(*this);
  }

  Program made() {
    first([this] { begin(); });
    each([this] { iterate(); });
    certificate_.end([this] { look(); },
                     [this] {
                       if (best_) when(BestIterate::goes_back, [this] { look(); });  // at the best image
                     });
    return finish();
  }

 private:
  bool may_diverge() const { return subsets_.count() > 1; }

  CertificateParameters judged() const {
    CertificateParameters result = certificate_parameters();
    if (may_diverge()) result.judge = BestIterate::judge;
    return result;
  }

  void begin() {
    if (best_) best_->at_zero(square(b) / 2);
    find_steps(1.0 / subsets_.count(), f_);
    begin_image();
    if (given.near_minimum) {
      p_ = A * x;
      p_ = misfit(p_);
      f_ = adjoint(A) * p_;
      certificate_.start_dual();
    }
    y_ = x;
    u_ = x;
  }

  void iterate() {
    over_subset([this] {
      p_ = fast_A * y_;
      p_ = misfit(p_, subsets_.count());
      f_ = adjoint(A) * p_;
    });
    f_ = fma(-tau_, f_, y_);
    for (int n = 0; n < prox_steps_; ++n) penalty_.prox(f_, tau_, u_);
    const Scalar along = dot(y_ - u_, (u_ - x) / tau_), restart = best_ ? best_->diverged() : along;
    const Scalar grown = (1 + sqrt(1 + 4 * t_ * t_)) / 2, beta = where(restart, 0, (t_ - 1) / grown);
    y_ = fma(beta, u_ - x, u_);
    x = u_;
    t_ = where(restart, 1, grown);
    // one after the first pass, too, of a method that may diverge
    const auto looks = [order = order_, every = every_, first = may_diverge()](const Scalars& known) {
      return order->ends_every(every, known) || (first && order->pass(known) == 0 && order->ends_every(1, known));
    };
    when(looks, [this] { look(); });
    if (best_)
      when([looks](const Scalars& known) { return looks(known) && BestIterate::goes_back(known); },
           [this] { go_back(); });
  }

  // Takes the dual r = W (A x - b) of the rays. It writes over f, which the next iteration makes again, and over u.
  void look() {
    p_ = A * x;
    r_ = misfit(p_);
    f_ = adjoint(A) * r_;
    certificate_.look(true);
    if (best_) best_->keep(x);
    u_ = x;
  }

  // Goes to the best image with a dual of 0, where the look has found so.
  void go_back() {
    best_->restore(x);
    penalty_.start();
    u_ = x;
    y_ = x;
  }

  const int prox_steps_, every_;
  Array u_ = volume("u", Lifetime::state, true), y_ = volume("y", Lifetime::state);  // u: x+
  Array f_ = volume("f", Lifetime::iteration), u_bar_ = volume("ubar", Lifetime::iteration),
        r_ = projections("r", Lifetime::iteration);
  Variable t_ = number("t", 1);
  Certificate certificate_{*this, A, penalty_, judged(), {x, f_, u_, u_bar_, p_, r_, b, w}};
  std::optional<BestIterate> best_;
};

}  // namespace

constinit const SolverMethod fista_method{
    .name = "fista",
    .about = "the same objective by accelerated gradient steps",
    .passes = 100,
    .weights = true,
    .start = true,
    .bounds = true,
    .penalty = true,
    .fast = true,
    .adjoint = true,
    .gathered = "momentum",
    .program = [](const ReconstructionProblem& problem) { return Fista(problem, 8, 10).made(); }};

constinit const SolverMethod os_fista_method{
    .name = "os-fista",
    .about = "the same by ordered subsets: fast at first, ends near the minimum",
    .passes = 20,
    .weights = true,
    .start = true,
    .bounds = true,
    .penalty = true,
    .fast = true,
    .subsets = true,
    .default_subsets = SolverMethod::few_subsets,
    .adjoint = true,
    .gathered = "momentum",
    .program = [](const ReconstructionProblem& problem) { return Fista(problem, 4, 5).made(); }};

}  // namespace halocline
