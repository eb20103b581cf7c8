// CGLS, conjugate gradients for least squares, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"

namespace halocline {

struct CglsParameters {
  int iterations = 20;
  double tolerance = 0;     ///< ends where ||A^T W r|| <= tolerance times what it was at the start; 0: after all
  bool weights = false;     ///< whether rays have weights, input "w"; else W = 1
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 0
};

/// min ||b - A x||_W (Hestenes & Stiefel 1952; Bjorck 1996, section 7.4). Each new gradient is made orthogonal to the
/// first one, which in float32 keeps the convergence of double. Inputs: projections "b", line integrals; "w", not
/// negative, in the inverse of their variance; with `from_start` the volume "x". Output: volume "x". Scalars
/// "residual": ||b - A x||_W by recurrence, "gradient": ||A^T W (b - A x)||. There are no bounds, for conjugate
/// directions end where voxels are clipped. Throws InputError for parameters out of range.
Program cgls(const RayOperator& A, const CglsParameters& parameters);

}  // namespace halocline
