// Landweber's iteration, gradient descent with one step length, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {

struct LandweberParameters {
  int iterations = 100;
  double relaxation = 1;    ///< 0 < relaxation < 2
  Bounds bounds = {};       ///< voxels are put into them after every iteration
  bool weights = false;     ///< whether rays have weights, input "w"; else W = 1
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 0
  double tolerance = 0;     ///< ends where "gradient" <= tolerance times "gradient at 0"; 0: after all
};

/// x <- x + omega A^T W (b - A x), omega = relaxation / (1.05 ||A||^2_W) (Landweber 1951). The norm is found first, by
/// 20 power steps. Without bounds ||b - A x||_W falls in every iteration. Inputs: projections "b", line integrals; "w",
/// not negative, in the inverse of their variance; with `from_start` the volume "x". Output: volume "x". Scalars
/// "residual": ||b - A x||_W; "gradient": ||A^T W (b - A x)||, and "gradient at 0", the same of x = 0; "norm":
/// ||A||^2_W as found. Throws InputError for parameters out of range and an `A` that is not matched().
Program landweber(const RayOperator& A, const LandweberParameters& parameters);

}  // namespace halocline
