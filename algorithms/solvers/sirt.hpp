// SIRT, the simultaneous iterative reconstruction technique, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {

struct SirtParameters {
  int iterations = 100;
  double relaxation = 1;    ///< omega, 0 < omega < 2
  Bounds bounds = {};       ///< voxels are put into them after every iteration
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 0
  double tolerance = 0;     ///< ends where "gradient" <= tolerance times "gradient at 0"; 0: after all
};

/// x <- x + omega C^-1 A^T R^-1 (b - A x), R = A 1 and C = A^T 1, 0 where these are 0 (Gilbert 1972; Hansen,
/// Jorgensen & Lionheart 2021, section 11.2). Input: projections "b"; output: volume "x". Scalars
/// "residual": ||b - A x||; "gradient": ||A^T R^-1 (b - A x)||, which is 0 where ||b - A x|| is least in the norm of
/// R^-1; "gradient at 0": ||A^T R^-1 b||. Throws InputError for parameters out of range.
Program sirt(const RayOperator& A, const SirtParameters& parameters);

}  // namespace halocline
