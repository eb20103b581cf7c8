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

double total_variation(const Grid& grid, const Vector& x, Vector* gradient) {
  const std::size_t row = grid.size[0], plane = row * grid.size[1], steps[] = {1, row, plane};
  double sum = 0;
  if (gradient != nullptr) gradient->assign(x.size(), 0.0);
  for (std::size_t n = 0; n < x.size(); ++n) {
    const std::size_t at[] = {n % row, n / row % grid.size[1], n / plane};
    double differences[3], square = 1e-16;
    for (int axis = 0; axis < 3; ++axis) {
      differences[axis] = at[axis] > 0 ? (x[n] - x[n - steps[axis]]) / grid.spacing[static_cast<std::size_t>(axis)] : 0;
      square += differences[axis] * differences[axis];
    }
    sum += std::sqrt(square);
    for (int axis = 0; gradient != nullptr && axis < 3; ++axis) {
      if (at[axis] == 0) continue;
      const double p = differences[axis] / std::sqrt(square) / grid.spacing[static_cast<std::size_t>(axis)];
      (*gradient)[n] += p;
      (*gradient)[n - steps[axis]] -= p;
    }
  }
  return sum;
}

std::pair<Vector, double> asd_pocs(const LeastSquares& problem, const Subsets& subsets, const Grid& grid,
                                   const AsdPocsParameters& parameters) {
  LeastSquares at = problem;
  double beta = parameters.relaxation, step = 0;
  for (int pass = 0; pass < parameters.passes; ++pass, beta *= parameters.relaxation_factor) {
    const Vector before = at.x;
    at.x = os_sart(at, subsets, 1, beta, parameters.bounds);
    const double moved = norm(minus(at.x, before)), distance = at.residual(at.x);
    if (pass == 0) step = parameters.descent_length * moved;
    Vector x = at.x, g;
    for (int n = 0; n < parameters.descent_steps; ++n) {
      total_variation(grid, x, &g);
      x = plus(x, -step / norm(g), g);
    }
    if (norm(minus(x, at.x)) > parameters.largest_ratio * moved && distance > parameters.data_distance)
      step *= parameters.descent_factor;
    at.x = x;
  }
  return {at.x, step};
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

// The Krylov basis made orthogonal twice; B^T A of it too, and x by projection on that.
std::pair<Vector, double> ba_gmres(const LeastSquares& problem, const Matrix& B, int iterations) {
  const Vector right = B.transposed_times(minus(problem.b, problem.A.times(problem.x)));
  std::vector<Vector> basis, images;  // images: orthonormal; basis: B^T A basis[n] = images[n]
  Vector next = right;
  for (int k = 0; k < iterations; ++k) {
    Vector direction = next, image = B.transposed_times(problem.A.times(direction));
    for (int twice = 0; twice < 2; ++twice)
      for (std::size_t n = 0; n < images.size(); ++n) {
        const double part = dot(image, images[n]);
        image = plus(image, -part, images[n]);
        direction = plus(direction, -part, basis[n]);
      }
    const double length = norm(image);
    for (double& each : image) each /= length;
    for (double& each : direction) each /= length;
    images.push_back(image);
    basis.push_back(direction);
    next = image;
  }
  Vector x = problem.x, rest = right;
  for (std::size_t n = 0; n < basis.size(); ++n) {
    const double part = dot(rest, images[n]);
    rest = plus(rest, -part, images[n]);
    x = plus(x, part, basis[n]);
  }
  return {x, norm(rest)};
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
