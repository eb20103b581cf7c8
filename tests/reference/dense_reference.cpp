#include "tests/reference/dense_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halocline::reference {

DenseMatrix gram(const RayMatrix& A) {
  const std::size_t size = A.columns();
  DenseMatrix M{size, {}};
  for (std::size_t n = 0; n < size; ++n) {
    Vector one(size, 0.0);
    one[n] = 1;
    const Vector row = A.transposed_times(A.times(one));
    M.values.insert(M.values.end(), row.begin(), row.end());
  }
  return M;
}

Vector cholesky_solve(DenseMatrix M, Vector v) {
  const std::size_t size = M.size;
  for (std::size_t j = 0; j < size; ++j)
    for (std::size_t i = j; i < size; ++i) {
      double sum = M.at(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= M.at(i, k) * M.at(j, k);
      M.at(i, j) = i == j ? std::sqrt(sum) : sum / M.at(j, j);
    }
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < i; ++k) v[i] -= M.at(i, k) * v[k];
    v[i] /= M.at(i, i);
  }
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t k = i + 1; k < size; ++k) v[i] -= M.at(k, i) * v[k];
    v[i] /= M.at(i, i);
  }
  return v;
}

double largest_singular_value(const RayMatrix& A) {
  DenseMatrix M = gram(A);
  const std::size_t size = M.size;
  double trace = 0;
  for (std::size_t n = 0; n < size; ++n) trace += M.at(n, n);
  for (bool turned = true; turned;) {
    turned = false;
    for (std::size_t p = 0; p < size; ++p)
      for (std::size_t q = p + 1; q < size; ++q) {
        if (std::abs(M.at(p, q)) <= 1e-15 * trace) continue;
        turned = true;
        const double theta = (M.at(q, q) - M.at(p, p)) / (2 * M.at(p, q)),
                     t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1.0)), c = 1 / std::hypot(t, 1.0),
                     s = t * c;
        for (std::size_t k = 0; k < size; ++k) {
          const double a = M.at(k, p), b = M.at(k, q);
          M.at(k, p) = c * a - s * b, M.at(k, q) = s * a + c * b;
        }
        for (std::size_t k = 0; k < size; ++k) {
          const double a = M.at(p, k), b = M.at(q, k);
          M.at(p, k) = c * a - s * b, M.at(q, k) = s * a + c * b;
        }
      }
  }
  double largest = 0;
  for (std::size_t n = 0; n < size; ++n) largest = std::max(largest, M.at(n, n));
  return std::sqrt(largest);
}

Vector non_negative_least_squares(const RayMatrix& A, const Vector& b) {
  const DenseMatrix M = gram(A);
  const Vector right = A.transposed_times(b);
  const std::size_t size = M.size;
  std::vector<bool> free(size, false);
  Vector x(size, 0.0);
  // the least squares solution of the free unknowns, 0 elsewhere
  const auto solved = [&] {
    std::vector<std::size_t> at;
    for (std::size_t n = 0; n < size; ++n)
      if (free[n]) at.push_back(n);
    DenseMatrix part{at.size(), Vector(at.size() * at.size())};
    Vector v;
    for (std::size_t i = 0; i < at.size(); ++i) {
      for (std::size_t j = 0; j < at.size(); ++j) part.at(i, j) = M.at(at[i], at[j]);
      v.push_back(right[at[i]]);
    }
    v = cholesky_solve(std::move(part), std::move(v));
    Vector all(size, 0.0);
    for (std::size_t i = 0; i < at.size(); ++i) all[at[i]] = v[i];
    return all;
  };
  const double tolerance = 1e-11 * *std::max_element(right.begin(), right.end());
  for (;;) {
    const Vector gradient = A.transposed_times(minus(b, A.times(x)));
    std::size_t next = size;
    for (std::size_t n = 0; n < size; ++n)
      if (!free[n] && gradient[n] > tolerance && (next == size || gradient[n] > gradient[next])) next = n;
    if (next == size) return x;
    free[next] = true;
    for (;;) {
      const Vector y = solved();
      double share = 1;
      for (std::size_t n = 0; n < size; ++n)
        if (free[n] && y[n] <= 0) share = std::min(share, x[n] / (x[n] - y[n]));
      for (std::size_t n = 0; n < size; ++n) x[n] += share * (y[n] - x[n]);
      if (share == 1) break;
      for (std::size_t n = 0; n < size; ++n)
        if (free[n] && y[n] <= 0 && x[n] <= 1e-15) free[n] = false, x[n] = 0;
    }
  }
}

}  // namespace halocline::reference
