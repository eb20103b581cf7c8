// BA-GMRES: least squares where the back-projection is not the exact adjoint, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"

namespace halocline {

struct BaGmresParameters {
  int iterations = 10;      ///< at most; each keeps a volume
  double tolerance = 0;     ///< ends where "gradient" <= tolerance times "gradient at 0"; 0: after all
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 0
};

/// The x of the Krylov space of B A and B (b - A x0) that minimises ||B (b - A x)||, B the back-projection of `A`
/// (Hansen, Hayami & Morikuni 2022, BA-GMRES), by Arnoldi's process with modified Gram-Schmidt. It converges where B is
/// only like A^T, and solvers that take B for A^T need not. Input: projections "b"; with `from_start` the volume "x".
/// Output: volume "x", which is made at the end. Scalars "gradient": ||B (b - A x)||, as the process knows it;
/// "gradient at 0": ||B b||; "residual": ||b - A x||, 0 before the end. Throws InputError for parameters out of range.
Program ba_gmres(const RayOperator& A, const BaGmresParameters& parameters);

}  // namespace halocline
