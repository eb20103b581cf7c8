// Gradient steps with a step length for each voxel (separable quadratic surrogates), with momentum, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {

struct GradientParameters {
  int iterations = 50;
  bool momentum = true;     ///< Nesterov's
  bool restart = true;      ///< of the momentum, where it points away from the minimum
  Bounds bounds = {};       ///< voxels are put into them in every iteration
  bool weights = false;     ///< whether rays have weights, input "w"; else W = 1
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 0
  double tolerance = 0;     ///< ends where "gradient" <= tolerance times "gradient at 0"; 0: after all
};

/// min ||b - A x||_W within the bounds: x+ = y + d^-1 A^T W (b - A y) with d = A^T W A 1, which makes each step one
/// that minimises a majorant (Erdogan & Fessler 1999), 0 where d is 0. Without momentum y is x, and ||b - A x||_W falls
/// in every iteration. With it y = x+ + beta (x+ - x), beta = (t - 1) / t+, t+ = (1 + sqrt(1 + 4 t^2)) / 2 (Nesterov
/// 1983; Beck & Teboulle 2009), and t = 1, y = x+ where <d (y - x+), x+ - x> > 0 (O'Donoghue & Candes 2015, gradient
/// scheme). Inputs: projections "b", line integrals; "w", not negative, in the inverse of their variance; with
/// `from_start` the volume "x". Output: volume "x". Scalars "residual": ||b - A x||_W; "gradient":
/// ||A^T W (b - A y)||, at the end that of x; "gradient at 0": ||A^T W b||. Throws InputError for parameters out of
/// range and an `A` that is not matched().
Program gradient(const RayOperator& A, const GradientParameters& parameters);

}  // namespace halocline
