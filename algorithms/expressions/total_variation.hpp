// Total variation in formulas: its value, its proximal operator, and the duality gap of least squares with it.
#pragma once

#include <array>

#include "algorithms/expressions/linear_operator.hpp"

namespace halocline::expressions {

/// TV(x) = sum |D x| of volumes, D the three forward differences over the spacing, in 1/mm (Rudin, Osher & Fatemi
/// 1992).
Scalar total_variation(const Array& x);

struct TvOptions {
  double lambda = 1;            ///< above 0
  double lower = 0, upper = 1;  ///< bounds of the voxels
};

/// The proximal operator of lambda TV and the bounds in the metric of voxels' steps, by projected gradients of its dual
/// (Chambolle 2004; diagonal steps as Pock & Chambolle 2011). The dual q, three volumes with |q| <= lambda, is kept
/// from call to call, so a solver that calls it with a slowly changing z needs few iterations.
class TvProx {
 public:
  /// Throws InputError (`lambda`, `lower`) for values out of range, and for a space of projections.
  TvProx(const Space& space, const TvOptions& options);
  /// argmin_x sum (x_i - z_i)^2 / (2 tau_i) + lambda TV(x) over lower <= x <= upper, tau above 0, after so many
  /// iterations.
  Array operator()(const Array& z, const Array& tau, int iterations);

  const TvOptions& options() const { return options_; }
  const std::array<Array, 3>& dual() const { return q_; }

 private:
  TvOptions options_;
  double norm2_;  // of D, at most
  std::array<Array, 3> q_;
};

/// Gap for P(x) = 1/2 sum w (A x - b)^2 + lambda TV(x) over the bounds: P(x) - min P <= gap.
struct DualityGap {
  double primal = 0, gap = 0;
  double relative() const { return primal > 0 ? gap / primal : 0; }
};
/// Gap with the dual w (A x - b) of the rays and that of `prox`, none of whose terms is negative (Rockafellar 1970,
/// section 31; halocline::Certificate). Throws InputError for arrays of other spaces than those of `A`.
DualityGap duality_gap(const LinearOperator& A, const Array& b, const Array& w, const Array& x, const TvProx& prox);

}  // namespace halocline::expressions
