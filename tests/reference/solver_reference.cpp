#include "tests/reference/solver_reference.hpp"

#include <algorithm>

namespace halocline::reference {
namespace {

Vector within(Vector x, const Bounds& bounds) {
  for (double& each : x) each = std::min(bounds.maximum, std::max(bounds.minimum, each));
  return x;
}

// A^T W (b - A x).
Vector descent(const LeastSquares& problem, const Vector& x) {
  return problem.A.transposed_times(times(minus(problem.b, problem.A.times(x)), problem.w));
}

}  // namespace

double LeastSquares::residual(const Vector& at) const {
  const Vector r = minus(b, A.times(at));
  return std::sqrt(dot(r, times(r, w)));
}

double squared_norm(const LeastSquares& problem, int steps) {
  Vector v(problem.A.voxels(), 1.0);
  double found = norm(v);
  for (int n = 0; n < steps; ++n) {
    for (double& each : v) each /= found;
    v = problem.A.transposed_times(times(problem.A.times(v), problem.w));
    found = norm(v);
  }
  return found;
}

Vector landweber(const LeastSquares& problem, int iterations, double omega, const Bounds& bounds) {
  Vector x = within(problem.x, bounds);
  for (int k = 0; k < iterations; ++k) x = within(plus(x, omega, descent(problem, x)), bounds);
  return x;
}

Vector gradient(const LeastSquares& problem, int iterations, bool momentum, bool restart, const Bounds& bounds) {
  const Matrix& A = problem.A;
  const Vector d = A.transposed_times(times(A.times(Vector(A.voxels(), 1.0)), problem.w));
  Vector x = within(problem.x, bounds), y = x;
  double t = 1;
  for (int k = 0; k < iterations; ++k) {
    const Vector next = within(plus(y, 1, times(descent(problem, y), inverse(d))), bounds);
    const Vector moved = minus(next, x);
    const bool turned = restart && dot(times(d, minus(y, next)), moved) > 0;
    const double grown = turned ? 1 : (1 + std::sqrt(1 + 4 * t * t)) / 2;
    y = plus(next, !momentum || turned ? 0 : (t - 1) / grown, moved);
    t = grown;
    x = next;
  }
  return x;
}

Vector conjugate_gradients(const LeastSquares& problem, int iterations) {
  const Matrix& A = problem.A;
  Vector x = problem.x, r = minus(problem.b, A.times(x)), s = A.transposed_times(times(problem.w, r)), p = s;
  double gamma = dot(s, s);
  for (int k = 0; k < iterations && gamma > 0; ++k) {
    const Vector q = A.times(p);
    const double alpha = gamma / dot(q, times(problem.w, q));
    x = plus(x, alpha, p);
    r = plus(r, -alpha, q);
    s = A.transposed_times(times(problem.w, r));
    const double next = dot(s, s);
    p = plus(s, next / gamma, p);
    gamma = next;
  }
  return x;
}

Vector os_sart(const LeastSquares& problem, const Subsets& subsets, int passes, double relaxation,
               const Bounds& bounds) {
  Vector x = within(problem.x, bounds);
  for (int pass = 0; pass < passes; ++pass)
    for (const Matrix& A : subsets) {
      const Vector rays = inverse(A.times(Vector(A.voxels(), 1.0))),
                   voxels = inverse(A.transposed_times(Vector(A.rays(), 1.0)));
      const Vector u = A.transposed_times(times(rays, minus(problem.b, A.times(x))));
      x = within(plus(x, relaxation, times(voxels, u)), bounds);
    }
  return x;
}

Vector osem(const LeastSquares& problem, const Subsets& subsets, int passes) {
  Vector x = problem.x;
  for (int pass = 0; pass < passes; ++pass)
    for (const Matrix& A : subsets) {
      Vector expected = A.times(x);
      for (std::size_t n = 0; n < expected.size(); ++n)
        expected[n] = expected[n] > 0 ? std::max(0.0, problem.b[n]) / expected[n] : 0;
      const Vector u = A.transposed_times(expected), sums = A.transposed_times(Vector(A.rays(), 1.0));
      for (std::size_t n = 0; n < x.size(); ++n)
        if (sums[n] > 0) x[n] *= u[n] / sums[n];
    }
  return x;
}

Vector ml_tr(const LeastSquares& problem, int iterations, double relaxation, const Bounds& bounds) {
  const Matrix& A = problem.A;
  const Vector lengths = A.times(Vector(A.voxels(), 1.0));
  Vector x = within(problem.x, bounds);
  for (int k = 0; k < iterations; ++k) {
    Vector expected = A.times(x), measured = problem.b;
    for (std::size_t n = 0; n < expected.size(); ++n) {
      expected[n] = problem.w[n] * std::exp(-expected[n]);
      measured[n] = problem.w[n] * std::exp(-measured[n]);
    }
    const Vector u = A.transposed_times(minus(expected, measured)), d = A.transposed_times(times(lengths, expected));
    x = within(plus(x, relaxation, times(inverse(d), u)), bounds);
  }
  return x;
}

double divergence(const Vector& b, const Vector& y) {
  double sum = 0;
  for (std::size_t n = 0; n < b.size(); ++n)
    if (y[n] > 0) sum += (b[n] > 0 ? b[n] * std::log(b[n] / y[n]) - b[n] : 0) + y[n];
  return sum;
}

}  // namespace halocline::reference
