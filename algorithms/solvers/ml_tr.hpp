// Maximum likelihood for transmission tomography, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {

struct MlTrParameters {
  int iterations = 50;
  double relaxation = 1;    ///< 0 < relaxation < 2
  Bounds bounds = {};       ///< voxels are put into them after every iteration
  bool weights = false;     ///< whether rays have blank counts of their own, input "w"; else all have the same
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 0
};

/// Maximises the Poisson likelihood of counts y = w exp(-b), whose expectation is w exp(-A x): x <- x + omega
/// A^T (w exp(-A x) - y) / A^T (R w exp(-A x)), R = A 1 (Nuyts, De Man, Dupont, Defrise, Suetens & Mortelmans 1998), 0
/// where the divisor is 0. Inputs: projections "b", line integrals; "w", counts without an object, of which a
/// common factor cancels; with `from_start` the volume "x". Output: volume "x". Scalars "residual": ||b - A x||;
/// "likelihood": the Kullback-Leibler divergence of the expectation from y, by which the log-likelihood is below its
/// largest value (of one count a ray if there are no weights). Throws InputError for parameters out of range.
Program ml_tr(const RayOperator& A, const MlTrParameters& parameters);

}  // namespace halocline
