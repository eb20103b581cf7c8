// LSQR, least squares by Golub-Kahan bidiagonalisation, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"

namespace halocline {

struct LsqrParameters {
  int iterations = 20;
  double tolerance = 0;     ///< ends where "gradient" <= tolerance times "gradient at 0"; 0: after all
  bool weights = false;     ///< whether rays have weights, input "w"; else W = 1
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 0
};

/// min ||b - A x||_W (Paige & Saunders 1982, section 4, in the inner product of W). The iterates are those of CGLS in
/// exact arithmetic; as a check of it, without re-orthogonalisation. Inputs: projections "b", line integrals; "w", not
/// negative, in the inverse of their variance; with `from_start` the volume "x". Output: volume "x". Scalars
/// "residual": ||b - A x||_W and "gradient": ||A^T W (b - A x)||, both by recurrence; "gradient at 0": ||A^T W b||.
/// Throws InputError for parameters out of range and an `A` that is not matched().
Program lsqr(const RayOperator& A, const LsqrParameters& parameters);

}  // namespace halocline
