// Solvers in double with the explicit matrix, straight from their formulas.
#pragma once

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

/// w: counts without an object.
Vector ml_tr(const LeastSquares& problem, int iterations, double relaxation, const Bounds& bounds);

/// sum b log(b / y) - b + y over y > 0.
double divergence(const Vector& b, const Vector& y);

}  // namespace halocline::reference
