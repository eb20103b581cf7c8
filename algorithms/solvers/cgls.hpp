// CGLS, conjugate gradients for least squares, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"

namespace halocline {

struct CglsParameters {
  int iterations = 20;
  double tolerance = 0;     ///< ends where "gradient" <= tolerance times "gradient at 0"; 0: after all
  bool weights = false;     ///< whether rays have weights, input "w"; else W = 1
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 0
  bool ramp = false;        ///< preconditioned by RampFilter
};

/// min ||b - A x||_W (Hestenes & Stiefel 1952; Bjorck 1996, section 7.4). Each new gradient is made orthogonal to the
/// first one, which in float32 keeps the convergence of double. With `ramp` the search directions come from M s instead
/// of the gradient s, M the ramp filter of the slices: A^T A blurs much as 1 / |frequency|, so M A^T A is near a
/// multiple of the identity, and a few iterations from the image of FDK do what dozens do without. Inputs: projections
/// "b", line integrals; "w", not negative, in the inverse of their variance; with `from_start` the volume "x". Output:
/// volume "x". Scalars "residual": ||b - A x||_W by recurrence; "gradient": ||A^T W (b - A x)||; "gradient at 0": ||A^T
/// W b||. There are no bounds, for conjugate directions end where voxels are clipped. Throws InputError for parameters
/// out of range, an `A` that is not matched(), and as RampFilter does.
Program cgls(const RayOperator& A, const CglsParameters& parameters);

}  // namespace halocline
