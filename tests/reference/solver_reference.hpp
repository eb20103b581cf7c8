// Solvers in double with the explicit matrix, straight from their formulas.
#pragma once

#include <utility>

#include "algorithms/solvers/asd_pocs.hpp"
#include "algorithms/solvers/vector_steps.hpp"
#include "tests/reference/ray_matrix.hpp"

namespace halocline::reference {

/// What all of them begin from: A, b, weights of rays and the start.
struct LeastSquares {
  const Matrix& A;
  Vector b, w, x;

  double residual(const Vector& at) const;  // ||b - A at||_W
};

/// ||A||^2_W as power steps from a volume of ones find it.
double squared_norm(const LeastSquares& problem, int steps);

Vector landweber(const LeastSquares& problem, int iterations, double omega, const Bounds& bounds);
Vector gradient(const LeastSquares& problem, int iterations, bool momentum, bool restart, const Bounds& bounds);
/// Without re-orthogonalisation, which double does not need.
Vector conjugate_gradients(const LeastSquares& problem, int iterations);

/// Rows of the matrix of each subset, in the order in which they are taken.
using Subsets = std::vector<Matrix>;
Vector os_sart(const LeastSquares& problem, const Subsets& subsets, int passes, double relaxation,
               const Bounds& bounds);
Vector osem(const LeastSquares& problem, const Subsets& subsets, int passes);

/// sum sqrt(|B x|^2 + 1e-16), B backward differences divided by the spacing, 0 on the near faces, and its gradient.
double total_variation(const Grid& grid, const Vector& x, Vector* gradient = nullptr);
/// x, and the length of the descent's steps in the end.
std::pair<Vector, double> asd_pocs(const LeastSquares& problem, const Subsets& subsets, const Grid& grid,
                                   const AsdPocsParameters& parameters);

/// BA-GMRES from 0 with the transposed of `B` for the back-projection: x, and ||B^T (b - A x)||.
std::pair<Vector, double> ba_gmres(const LeastSquares& problem, const Matrix& B, int iterations);

/// w: counts without an object.
Vector ml_tr(const LeastSquares& problem, int iterations, double relaxation, const Bounds& bounds);

/// sum b log(b / y) - b + y over y > 0.
double divergence(const Vector& b, const Vector& y);

}  // namespace halocline::reference
