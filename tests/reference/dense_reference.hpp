// Small dense linear algebra in double precision: closed forms of what solvers find iteratively.
#pragma once

#include "tests/reference/ray_matrix.hpp"

namespace halocline::reference {

/// A symmetric matrix, row by row.
struct DenseMatrix {
  std::size_t size = 0;
  Vector values;
  double& at(std::size_t row, std::size_t column) { return values[row * size + column]; }
  double at(std::size_t row, std::size_t column) const { return values[row * size + column]; }
};

/// A^T A
DenseMatrix gram(const RayMatrix& A);
/// M^-1 v of a positive definite M.
Vector cholesky_solve(DenseMatrix M, Vector v);
/// The largest singular value of A, by Jacobi's rotations of A^T A.
double largest_singular_value(const RayMatrix& A);
/// min ||A x - b|| over x >= 0 by the active sets of Lawson & Hanson (1974, chapter 23). A^T A is positive definite.
Vector non_negative_least_squares(const RayMatrix& A, const Vector& b);

}  // namespace halocline::reference
