// Least squares with a total variation penalty and bounds, in double precision from the formulas.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "tests/reference/solver_reference.hpp"
#include "tests/reference/tv_reference.hpp"

namespace halocline::reference {

/// P(x) = 1/2 sum_j w_j (A x - b)_j^2 + lambda sum_i |(D x)_i| over lower <= x <= upper, D as gradient() has it.
struct Penalised {
  RayMatrix A;
  Vector b, w;
  Lattice lattice;
  double lambda = 0, lower = 0, upper = std::numeric_limits<double>::infinity();

  double value(const Vector& x) const;
  /// W (A x - b)
  Vector residual(const Vector& x) const;
  /// d = A^T W A 1: A^T W A is at most diag(d).
  Vector majoriser() const;
  /// A lower bound of the minimum, for any r that is 0 where w is and any q with |q_i| <= lambda:
  ///   -1/2 sum r^2 / w - <r, b> + sum_i min over x_i of (A^T r - div q)_i x_i
  double dual_value(const Vector& r, const Field& q) const;
};

/// min_u 1/2 sum (u - f)^2 / tau + lambda TV(u) within the bounds, by projected ascent of the dual, which is kept.
class TvProx {
 public:
  TvProx(const Lattice& lattice, double lambda, double lower, double upper);
  /// Dual steps for these tau: 2 / (||D||^2 (tau_i + the largest tau of i's forward neighbours)).
  void set_tau(const Vector& tau);
  /// `iterations` times q <- Proj(q + s D u), u <- clip(f + tau div q), from this u.
  void iterate(const Vector& f, Vector& u, int iterations);
  /// u = clip(f + tau div q)
  void primal(const Vector& f, Vector& u) const;
  /// q <- Proj(q + s D u)
  void dual(const Vector& u);
  const Field& q() const { return q_; }
  void set_q(const Field& q) { q_ = q; }

 private:
  Lattice lattice_;
  double lambda_, lower_, upper_;
  Vector tau_, step_;
  Field q_;
};

/// x <- prox(x - A^T W (A x - b) / d) in the metric d, each prox of so many iterations.
Vector proximal_gradient(const Penalised& problem, Vector x, int iterations, int inner, const Look& look = {});

/// FISTA with momentum (Beck & Teboulle 2009), which `restart` resets where it leads uphill (O'Donoghue & Candes 2015).
Vector fista(const Penalised& problem, Vector x, int iterations, int inner, bool restart, const Look& look = {});

/// Both without a penalty: steps of A^T W (b - A x) / d within the bounds.
Vector gradient(const LeastSquares& problem, int iterations, bool momentum, bool restart, const Bounds& bounds);

/// State of the stochastic primal-dual method: r and z = A^T r of the data, q of the total variation.
struct Spdhg {
  Vector x, r, z;
  Field q;
};
struct SpdhgRun {
  int passes = 30;
  /// Iterations of the prox a subset. 0: a step of x, and one of q from the extrapolated x (Condat 2013,
  /// algorithm 3.1), as the solver has it.
  int inner = 2;
  std::function<std::vector<int>(int pass)> order;
  std::function<void(int passes, const Spdhg& state)> look;
};
/// Chambolle, Ehrhardt, Richtarik & Schonlieb (2018) with dual steps eta w and primal steps
/// 0.99 / (eta S max_s A_s^T W_s A_s 1), eta = max(0.05, 3 / (pass + 4)). Voxels that no ray meets have the step of a
/// tenth of the largest maximum.
Spdhg spdhg(const Penalised& problem, const RaySubsets& subsets, const Vector& start, const SpdhgRun& run);

/// A q that makes dual_value(r, q) larger: Chambolle & Pock (2011) on min <A^T r, u> + lambda TV(u) within the bounds,
/// from u = x, with the steps tau = 0.3 (upper - lower) h / lambda, h the smallest spacing, and 1 / (tau ||D||^2).
Field polished(const Penalised& problem, const Spdhg& state, int iterations);

/// The largest ||D||^2 that these spacings allow: the sum of 4 / h^2 over axes of more than one voxel.
double gradient_norm_squared(const Lattice& lattice);

}  // namespace halocline::reference
