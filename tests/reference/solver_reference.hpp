// Double-precision solvers of A x = b with the explicit matrix, straight from their formulas.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "algorithms/solvers/solver.hpp"
#include "tests/reference/ray_matrix.hpp"

namespace halocline::reference {

/// Common input of the solvers: A, b, weights of rays and the start.
struct LeastSquares {
  const RayMatrix& A;
  Vector b, w, x;

  /// All weights 1, from x = 0.
  LeastSquares(const RayMatrix& matrix, Vector data)
      : A(matrix), b(std::move(data)), w(matrix.rows(), 1.0), x(matrix.columns(), 0.0) {}
  LeastSquares(const RayMatrix& matrix, Vector data, Vector weights, Vector start)
      : A(matrix), b(std::move(data)), w(std::move(weights)), x(std::move(start)) {}

  double residual(const Vector& at) const;  // ||b - A at||_W
  Vector descent(const Vector& at) const;   // A^T W (b - A at)
  double squared_norm(int steps) const;     // ||A||^2_W, see RayMatrix::squared_norm()
};

/// Function called with every iterate, k = 1, 2, ...
using Look = std::function<void(int k, const Vector& x)>;
/// The rays of each subset, in the order in which a pass takes them.
using RaySubsets = std::vector<std::vector<std::size_t>>;
/// One subset of all.
RaySubsets all_rays(const RayMatrix& A);

Vector clamped(Vector x, const Bounds& bounds);

/// Hestenes & Stiefel (1952) for min ||A x - b||_W. `orthogonal`: each gradient is made orthogonal to all that went
/// before, which gives the iterates of exact arithmetic; double alone leaves them after a dozen iterations.
Vector cgls(const LeastSquares& problem, int iterations, const Look& look = {}, bool orthogonal = true);

/// Paige & Saunders (1982) for the same from 0 without weights, by Golub and Kahan's bidiagonalisation, right vectors
/// made orthogonal.
Vector lsqr(const LeastSquares& problem, int iterations, const Look& look = {});

/// x <- x + step A^T W (b - A x) within the bounds (Landweber 1951).
Vector landweber(const LeastSquares& problem, int iterations, double step, const Bounds& bounds = {},
                 const Look& look = {});

/// x <- x + relaxation C^-1 A^T R^-1 (b - A x) within the bounds, R = A 1, C = A^T 1 (Gilbert 1972).
Vector sirt(const LeastSquares& problem, int iterations, double relaxation = 1, const Bounds& bounds = {},
            const Look& look = {});

/// SART by one subset after another, C being the subset's; an iteration is a pass (Censor & Elfving 2002).
Vector os_sart(const LeastSquares& problem, const RaySubsets& subsets, int passes, double relaxation = 1,
               const Bounds& bounds = {}, const Look& look = {});

/// x <- x C^-1 A^T (b / A x), 0 / 0 = 0 and b < 0 taken for 0, by one subset after another (Shepp & Vardi 1982; Hudson
/// & Larkin 1994). Voxels that no ray of a subset meets do not change.
Vector osem(const LeastSquares& problem, const RaySubsets& subsets, int passes, const Look& look = {});

/// Parameters of algorithms/solvers/asd_pocs.cpp, with its values.
struct AsdPocsParameters {
  int passes = 50;
  double relaxation = 1, relaxation_factor = 0.995;
  int descent_steps = 20;
  double descent_length = 0.01, descent_factor = 0.95, largest_ratio = 0.95;
  Bounds bounds = {};
};

/// x, and the length of the descent's steps in the end.
std::pair<Vector, double> asd_pocs(const LeastSquares& problem, const RaySubsets& subsets, const Grid& grid,
                                   const AsdPocsParameters& parameters);

/// BA-GMRES with the transposed of `B` for the back-projection: x, and ||B^T (b - A x)||.
std::pair<Vector, double> ba_gmres(const LeastSquares& problem, const RayMatrix& B, int iterations);

/// sum b log(b / y) - b + y over y > 0.
double kullback_leibler(const Vector& b, const Vector& y);

}  // namespace halocline::reference
