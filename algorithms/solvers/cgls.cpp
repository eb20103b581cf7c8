// CGLS, conjugate gradients for least squares: min ||b - A x||_W (Hestenes & Stiefel 1952; Bjorck 1996, section 7.4).
// Each new gradient is made orthogonal to the first one, which in float32 keeps the convergence of double. With the
// preconditioner `ramp` the search directions are made from M s instead of the gradient s, M the ramp filter of the
// slices: A^T A blurs much as 1 / |frequency|, so M A^T A is near a multiple of the identity, and a few iterations from
// the image of FDK do what dozens do without. There are no bounds, for conjugate directions end where voxels are
// clipped.
#include <optional>

#include "algorithms/solvers/ramp_filter.hpp"
#include "algorithms/solvers/solver.hpp"

namespace halocline {
namespace {

class Cgls : public Solver {
 public:
  explicit Cgls(const ReconstructionProblem& problem) : Solver("cgls", problem) {
    if (parameters.precondition == Preconditioner::ramp) {
      ramp_.emplace(*this);
      z_ = volume("z", Lifetime::iteration);
    }
  }

  Program made() {
    first([this] { begin(); });
    each([this] { iterate(); });
    return finish();
  }

 private:
  // s = A^T W r; writes over q.
  void back(Array& q) {
    if (w.empty()) {
      s_ = adjoint(A) * r_;
    } else {
      q = r_ * w;
      s_ = adjoint(A) * q;
    }
  }

  void begin() {
    equations_.at_zero(s_, w);
    begin_image();
    Array q = given.start ? A * x : Array();
    r_ = 1 * b;
    if (given.start) r_ -= q;
    back(q);
    const Scalar square = dot(s_, s_);
    equations_.report(sqrt(square), true);
    if (ramp_) ramp_->filter(s_, z_);
    gamma_ = ramp_ ? dot(s_, z_) : square;
    p_ = 1 * descent();
    e_ = ratio(1, sqrt(gamma_)) * descent();
  }

  void iterate() {
    Array q = A * p_;
    const Scalar alpha = ratio(gamma_, square(q));
    x = fma(alpha, p_, x);
    r_ = fma(-alpha, q, r_);
    equations_.residual = sqrt(square(r_));
    back(q);
    const Scalar next = ramp_ ? preconditioned() : plain();
    const Scalar beta = ratio(next, gamma_);
    p_ = descent() + beta * p_;
    gamma_ = next;
  }

  // s, made orthogonal to the first; <s, s>.
  Scalar plain() {
    s_ = fma(-dot(e_, s_), e_, s_);
    const Scalar square = dot(s_, s_);
    equations_.report(sqrt(square));
    return square;
  }

  // z = M s of an s that were made orthogonal to the first in the inner product of M, and <s, z> of it: with s' = s -
  // <e, s> s0 and e = M s0, <s0, M s0> = 1, that is <s, M s> - <e, s>^2.
  Scalar preconditioned() {
    equations_.report(norm(s_));
    ramp_->filter(s_, z_);
    const Scalar along = dot(e_, s_), square = dot(s_, z_);
    z_ = fma(-along, e_, z_);
    return max(0, square - along * along);
  }

  // The array that the next direction is made of.
  const Array& descent() const { return ramp_ ? z_ : s_; }

  NormalEquations equations_{*this};
  Array p_ = volume("p", Lifetime::state), e_ = volume("e", Lifetime::state);  // e: the first s or z, unit
  Array s_ = volume("s", Lifetime::iteration), r_ = projections("r", Lifetime::state), z_;
  Variable gamma_ = number("gamma");
  std::optional<RampFilter> ramp_;
};

}  // namespace

constinit const SolverMethod cgls_method{
    .name = "cgls",
    .about = "conjugate gradients for least squares; noise comes back with more passes",
    .passes = 12,
    .weights = true,
    .start = true,
    .tolerance = true,
    .precondition = true,
    .adjoint = true,
    .gathered = "search directions",
    .program = [](const ReconstructionProblem& problem) { return Cgls(problem).made(); }};

}  // namespace halocline
