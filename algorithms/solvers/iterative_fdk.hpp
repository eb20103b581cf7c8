// Iterative FDK: FDK of the residual, added again and again, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {

struct IterativeFdkParameters {
  int iterations = 5;
  double relaxation = 1;    ///< omega, 0 < omega < 2
  Bounds bounds = {};       ///< voxels are put into them after every iteration
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 0, and the first x is that of FDK
  double tolerance = 0;     ///< ends where "gradient" <= tolerance times "gradient at 0"; 0: after all
};

/// x <- x + omega F (b - A x), F the weights, ramp filter and back-projection of FDK (Medoff et al. 1983; Zeng &
/// Gullberg 2000, F as an unmatched back-projector with the ramp). It corrects what FDK gets wrong of the data: cone
/// artefacts, few views, bounds. F is no adjoint: noise and the highest frequencies come back with more iterations, and
/// nothing proves that they converge, so the x of the least ||b - A x|| is kept, too. `A` has F for its back-projection
/// (RayOperatorForms::fdk). Input: projections "b"; with `from_start` the volume "x". Output: volume "x", the best if
/// the iterations diverge (BestIterate). Scalars "residual": ||b - A x||; "gradient": ||F (b - A x)||, "gradient at 0":
/// ||F b||. Throws InputError for parameters out of range.
Program iterative_fdk(const RayOperator& A, const IterativeFdkParameters& parameters);

}  // namespace halocline
