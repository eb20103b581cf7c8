#include "tests/reference/solver_reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/reference/tv_reference.hpp"

namespace halocline::reference {
namespace {

Vector scaled(Vector x, double a) {
  for (double& each : x) each *= a;
  return x;
}

// The rest of x without its parts along these orthonormal vectors, computed twice against rounding.
Vector orthogonal_to(const std::vector<Vector>& basis, Vector x) {
  for (int round = 0; round < 2; ++round)
    for (const Vector& each : basis) {
      const double part = dot(each, x);
      x = plus(std::move(x), -part, each);
    }
  return x;
}

void tell(const Look& look, int k, const Vector& x) {
  if (look) look(k, x);
}

// The rays of a subset, and the sums of the rows and columns of their matrix.
struct Part {
  RayMatrix A;
  Vector b, rows, columns;
};

std::vector<Part> parts_of(const LeastSquares& problem, const RaySubsets& subsets) {
  std::vector<Part> parts;
  for (const auto& rays : subsets) {
    Part part{problem.A.of_rows(rays), {}, {}, {}};
    for (const std::size_t ray : rays) part.b.push_back(problem.b[ray]);
    part.rows = part.A.row_sums();
    part.columns = part.A.column_sums();
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

double LeastSquares::residual(const Vector& at) const {
  const Vector r = minus(b, A.times(at));
  return std::sqrt(dot(r, product(r, w)));
}

Vector LeastSquares::descent(const Vector& at) const {
  return A.transposed_times(product(minus(b, A.times(at)), w));
}

double LeastSquares::squared_norm(int steps) const {
  Vector roots = w;
  for (double& each : roots) each = std::sqrt(each);
  return A.rows_scaled(roots).squared_norm(steps);
}

RaySubsets all_rays(const RayMatrix& A) {
  RaySubsets all(1, std::vector<std::size_t>(A.rows()));
  std::iota(all[0].begin(), all[0].end(), std::size_t{0});
  return all;
}

Vector clamped(Vector x, const Bounds& bounds) {
  for (double& each : x) each = std::clamp(each, bounds.minimum, bounds.maximum);
  return x;
}

Vector cgls(const LeastSquares& problem, int iterations, const Look& look, bool orthogonal) {
  const RayMatrix& A = problem.A;
  Vector x = problem.x, r = minus(problem.b, A.times(x)), s = A.transposed_times(product(problem.w, r)), p = s;
  double gamma = dot(s, s);
  const double arrived = 1e-30 * gamma;
  std::vector<Vector> gradients;
  for (int k = 1; k <= iterations && gamma > arrived; ++k) {
    if (orthogonal) gradients.push_back(scaled(s, 1 / std::sqrt(gamma)));
    const Vector q = A.times(p);
    const double alpha = gamma / dot(q, product(problem.w, q));
    x = plus(std::move(x), alpha, p);
    r = plus(std::move(r), -alpha, q);
    s = orthogonal_to(gradients, A.transposed_times(product(problem.w, r)));
    const double next = dot(s, s);
    p = plus(s, next / gamma, p);
    gamma = next;
    tell(look, k, x);
  }
  return x;
}

Vector lsqr(const LeastSquares& problem, int iterations, const Look& look) {
  const RayMatrix& A = problem.A;
  double beta = norm(problem.b);
  Vector x(A.columns(), 0.0), u = scaled(problem.b, 1 / beta), v = A.transposed_times(u);
  double alpha = norm(v);
  v = scaled(std::move(v), 1 / alpha);
  std::vector<Vector> right{v};
  Vector w = v;
  double phi_bar = beta, rho_bar = alpha;
  for (int k = 1; k <= iterations; ++k) {
    Vector next = plus(A.times(v), -alpha, u);
    beta = norm(next);
    u = scaled(std::move(next), 1 / beta);
    next = orthogonal_to(right, plus(A.transposed_times(u), -beta, v));
    alpha = norm(next);
    v = scaled(std::move(next), 1 / alpha);
    right.push_back(v);
    const double rho = std::hypot(rho_bar, beta), c = rho_bar / rho, s = beta / rho;
    x = plus(std::move(x), c * phi_bar / rho, w);
    w = plus(v, -s * alpha / rho, w);
    rho_bar = -c * alpha;
    phi_bar *= s;
    tell(look, k, x);
  }
  return x;
}

Vector landweber(const LeastSquares& problem, int iterations, double step, const Bounds& bounds, const Look& look) {
  Vector x = clamped(problem.x, bounds);
  for (int k = 1; k <= iterations; ++k) {
    x = clamped(plus(x, step, problem.descent(x)), bounds);
    tell(look, k, x);
  }
  return x;
}

Vector sirt(const LeastSquares& problem, int iterations, double relaxation, const Bounds& bounds, const Look& look) {
  return os_sart(problem, all_rays(problem.A), iterations, relaxation, bounds, look);
}

Vector os_sart(const LeastSquares& problem, const RaySubsets& subsets, int passes, double relaxation,
               const Bounds& bounds, const Look& look) {
  const auto parts = parts_of(problem, subsets);
  Vector x = clamped(problem.x, bounds);
  for (int k = 1; k <= passes; ++k) {
    for (const auto& part : parts) {
      const Vector r = product(minus(part.b, part.A.times(x)), inverse(part.rows));
      x = clamped(plus(x, relaxation, product(part.A.transposed_times(r), inverse(part.columns))), bounds);
    }
    tell(look, k, x);
  }
  return x;
}

Vector osem(const LeastSquares& problem, const RaySubsets& subsets, int passes, const Look& look) {
  const auto parts = parts_of(problem, subsets);
  Vector x = problem.x;
  for (int k = 1; k <= passes; ++k) {
    for (const auto& part : parts) {
      const Vector ratio = product(clamped(part.b, {.minimum = 0}), inverse(part.A.times(x))),
                   u = part.A.transposed_times(ratio);
      for (std::size_t n = 0; n < x.size(); ++n)
        if (part.columns[n] > 0) x[n] *= u[n] / part.columns[n];
    }
    tell(look, k, x);
  }
  return x;
}

std::pair<Vector, double> asd_pocs(const LeastSquares& problem, const RaySubsets& subsets, const Grid& grid,
                                   const AsdPocsParameters& parameters) {
  constexpr double epsilon = 1e-8;  // of the roots of the total variation
  LeastSquares at = problem;
  double beta = parameters.relaxation, step = 0;
  for (int pass = 0; pass < parameters.passes; ++pass, beta *= parameters.relaxation_factor) {
    const Vector before = at.x;
    at.x = os_sart(at, subsets, 1, beta, parameters.bounds);
    const double moved = norm(minus(at.x, before));
    if (pass == 0) step = parameters.descent_length * moved;
    Vector x = at.x;
    for (int n = 0; n < parameters.descent_steps; ++n) {
      const Vector g = smoothed_variation_gradient({grid.size, grid.spacing}, x, epsilon);
      x = plus(x, -step / norm(g), g);
    }
    if (norm(minus(x, at.x)) > parameters.largest_ratio * moved) step *= parameters.descent_factor;
    at.x = x;
  }
  return {at.x, step};
}

// The Krylov basis made orthogonal twice; B^T A of it too, and x by projection on that.
std::pair<Vector, double> ba_gmres(const LeastSquares& problem, const RayMatrix& B, int iterations) {
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
    images.push_back(scaled(image, 1 / length));
    basis.push_back(scaled(direction, 1 / length));
    next = images.back();
  }
  Vector x = problem.x, rest = right;
  for (std::size_t n = 0; n < basis.size(); ++n) {
    const double part = dot(rest, images[n]);
    rest = plus(rest, -part, images[n]);
    x = plus(x, part, basis[n]);
  }
  return {x, norm(rest)};
}

double kullback_leibler(const Vector& b, const Vector& y) {
  double sum = 0;
  for (std::size_t n = 0; n < b.size(); ++n)
    if (y[n] > 0) sum += (b[n] > 0 ? b[n] * std::log(b[n] / y[n]) - b[n] : 0) + y[n];
  return sum;
}

}  // namespace halocline::reference
