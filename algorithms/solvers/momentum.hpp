// Nesterov's momentum with restarts.
#pragma once

#include "algorithms/solvers/solver.hpp"

namespace halocline {

/// The recursion t+ = (1 + sqrt(1 + 4 t^2)) / 2, beta = (t - 1) / t+; t = 1 and beta = 0 where it restarts (Nesterov
/// 1983; Beck & Teboulle 2009; O'Donoghue & Candes 2015).
class Momentum {
 public:
  explicit Momentum(expressions::Recording& on) : t_(on.number("t", 1)) {}

  /// y = u + beta (u - x), then x = u. It restarts where `turn` > 0. Returns beta.
  Scalar step(Array& x, Array& y, const Array& u, const Scalar& turn) {
    const Scalar grown = (1 + sqrt(1 + 4 * t_ * t_)) / 2, beta = where(turn, 0, (t_ - 1) / grown);
    y = fma(beta, u - x, u);
    x = u;
    t_ = where(turn, 1, grown);
    return beta;
  }

 private:
  Variable t_;
};

}  // namespace halocline
