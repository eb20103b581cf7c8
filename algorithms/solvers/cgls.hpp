// CGLS, conjugate gradients for least squares, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"

namespace halocline {

struct CglsParameters {
  int iterations = 20;
  double tolerance = 0;  ///< ends where ||A^T r|| <= tolerance ||A^T b||; 0: after all iterations
};

/// min ||A x - b|| from x = 0 (Hestenes & Stiefel 1952; Bjorck 1996, section 7.4). Each new gradient is made orthogonal
/// to the first one, which in float32 keeps the convergence of double. Input: projections "b"; output: volume "x".
/// Scalars "residual": ||b - A x|| by recurrence, "gradient": ||A^T (b - A x)||.
Program cgls(const RayOperator& A, const CglsParameters& parameters);

}  // namespace halocline
