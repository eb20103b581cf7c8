// Double-precision solvers of A x = b with the explicit matrix, from their formulas.
#pragma once

#include <functional>
#include <vector>

#include "tests/reference/ray_matrix.hpp"

namespace halocline::reference {

/// Told of every iterate, k = 1, 2, ...
using Look = std::function<void(int k, const Vector& x)>;
/// The rays of each subset, in the order in which a pass takes them.
using RaySubsets = std::vector<std::vector<std::size_t>>;

/// Hestenes & Stiefel (1952) for min ||A x - b|| from x = 0. `orthogonal`: each gradient is made orthogonal to all that
/// went before, which gives the iterates of exact arithmetic; double alone leaves them after a dozen iterations.
Vector cgls(const RayMatrix& A, const Vector& b, int iterations, const Look& look = {}, bool orthogonal = true);

/// Paige & Saunders (1982) for the same, by Golub and Kahan's bidiagonalisation, right vectors made
/// orthogonal.
Vector lsqr(const RayMatrix& A, const Vector& b, int iterations, const Look& look = {});

/// x <- x + step A^T (b - A x) from x = 0 (Landweber 1951).
Vector landweber(const RayMatrix& A, const Vector& b, int iterations, double step, const Look& look = {});

/// x <- x + relaxation C^-1 A^T R^-1 (b - A x) from x = 0, R = A 1, C = A^T 1 (Gilbert 1972).
Vector sirt(const RayMatrix& A, const Vector& b, int iterations, double relaxation = 1, bool non_negative = false,
            const Look& look = {});

/// The same of one subset after another, C being the subset's; an iteration is a pass (Censor & Elfving 2002).
Vector os_sart(const RayMatrix& A, const Vector& b, const RaySubsets& subsets, int passes, double relaxation = 1,
               bool non_negative = false, const Look& look = {});

/// x <- x C^-1 A^T (b / A x), 0 / 0 = 0 (Shepp & Vardi 1982).
Vector mlem(const RayMatrix& A, const Vector& b, Vector x, int iterations, const Look& look = {});

}  // namespace halocline::reference
