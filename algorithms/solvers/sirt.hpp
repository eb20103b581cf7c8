// SIRT, the simultaneous iterative reconstruction technique, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"

namespace halocline {

struct SirtParameters {
  int iterations = 100;
  double relaxation = 1;      ///< omega, 0 < omega < 2
  bool non_negative = false;  ///< voxels below 0 become 0 after every iteration
};

/// x <- x + omega C^-1 A^T R^-1 (b - A x) from x = 0, R = A 1 and C = A^T 1, 0 where these are 0 (Gilbert 1972; Hansen,
/// Jorgensen & Lionheart 2021, section 11.2). Input: projections "b"; output: volume "x". Scalar "residual":
/// ||b - A x||.
Program sirt(const RayOperator& A, const SirtParameters& parameters);

}  // namespace halocline
