// Iterative FDK: FDK of the residual, added again and again, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {

struct IterativeFdkParameters {
  int iterations = 5;
  double relaxation = 1;    ///< omega, 0 < omega < 2
  Bounds bounds = {};       ///< voxels are put into them after every iteration, which then takes a projection more
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 0
  double tolerance = 0;     ///< ends where "gradient" <= tolerance times "gradient at 0"; 0: after all
};

/// x <- x + omega alpha F (b - A x), F the weights, ramp filter and back-projection of FDK (Medoff et al. 1983; Zeng &
/// Gullberg 2000, F as an unmatched back-projector with the ramp), alpha the step to the least ||b - A x|| along that
/// direction: with alpha = 1 the iterations diverge where views are few for the voxels. Without bounds ||b - A x||
/// never grows. It corrects what FDK gets wrong of the data: cone artefacts, few views, bounds. F is no adjoint, so
/// there is no objective, and noise comes back with more iterations. `A` has F for its back-projection
/// (RayOperatorForms::fdk). Input: projections "b"; with `from_start` the volume "x". Output: volume "x". Scalars
/// "residual": ||b - A x||; "gradient": ||F (b - A x)||; "gradient at 0": ||F b||. Throws InputError for parameters out
/// of range.
Program iterative_fdk(const RayOperator& A, const IterativeFdkParameters& parameters);

}  // namespace halocline
