#include "tests/reference/iterative_reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace halocline::reference {
namespace {

void add(Vector& y, double a, const Vector& x) {
  for (std::size_t n = 0; n < y.size(); ++n) y[n] += a * x[n];
}

Vector scaled(Vector x, double a) {
  for (double& each : x) each *= a;
  return x;
}

// What is left of x when its parts along these orthonormal vectors are taken off, twice against rounding.
Vector orthogonal_to(const std::vector<Vector>& basis, Vector x) {
  for (int round = 0; round < 2; ++round)
    for (const Vector& each : basis) add(x, -dot(each, x), each);
  return x;
}

void tell(const Look& look, int k, const Vector& x) {
  if (look) look(k, x);
}

}  // namespace

Vector cgls(const RayMatrix& A, const Vector& b, int iterations, const Look& look, bool orthogonal) {
  Vector x(A.columns(), 0.0), r = b, s = A.transposed_times(r), p = s;
  double gamma = dot(s, s);
  const double arrived = 1e-30 * gamma;
  std::vector<Vector> gradients;
  for (int k = 1; k <= iterations && gamma > arrived; ++k) {
    if (orthogonal) gradients.push_back(scaled(s, 1 / std::sqrt(gamma)));
    const Vector q = A.times(p);
    const double alpha = gamma / dot(q, q);
    add(x, alpha, p);
    add(r, -alpha, q);
    s = orthogonal_to(gradients, A.transposed_times(r));
    const double next = dot(s, s);
    p = scaled(std::move(p), next / gamma);
    add(p, 1, s);
    gamma = next;
    tell(look, k, x);
  }
  return x;
}

Vector lsqr(const RayMatrix& A, const Vector& b, int iterations, const Look& look) {
  double beta = norm(b);
  Vector x(A.columns(), 0.0), u = scaled(b, 1 / beta), v = A.transposed_times(u);
  double alpha = norm(v);
  v = scaled(std::move(v), 1 / alpha);
  std::vector<Vector> right{v};
  Vector w = v;
  double phi_bar = beta, rho_bar = alpha;
  for (int k = 1; k <= iterations; ++k) {
    Vector next = A.times(v);
    add(next, -alpha, u);
    beta = norm(next);
    u = scaled(std::move(next), 1 / beta);
    next = A.transposed_times(u);
    add(next, -beta, v);
    next = orthogonal_to(right, std::move(next));
    alpha = norm(next);
    v = scaled(std::move(next), 1 / alpha);
    right.push_back(v);
    const double rho = std::hypot(rho_bar, beta), c = rho_bar / rho, s = beta / rho;
    add(x, c * phi_bar / rho, w);
    w = scaled(std::move(w), -s * alpha / rho);
    add(w, 1, v);
    rho_bar = -c * alpha;
    phi_bar *= s;
    tell(look, k, x);
  }
  return x;
}

Vector landweber(const RayMatrix& A, const Vector& b, int iterations, double step, const Look& look) {
  Vector x(A.columns(), 0.0);
  for (int k = 1; k <= iterations; ++k) {
    add(x, step, A.transposed_times(minus(b, A.times(x))));
    tell(look, k, x);
  }
  return x;
}

Vector sirt(const RayMatrix& A, const Vector& b, int iterations, double relaxation, bool non_negative,
            const Look& look) {
  std::vector<std::size_t> all(A.rows());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return os_sart(A, b, {all}, iterations, relaxation, non_negative, look);
}

Vector os_sart(const RayMatrix& A, const Vector& b, const RaySubsets& subsets, int passes, double relaxation,
               bool non_negative, const Look& look) {
  struct Subset {
    RayMatrix A;
    Vector b, rows, columns;
  };
  std::vector<Subset> parts;
  for (const auto& rays : subsets) {
    Subset part{A.of_rows(rays), {}, {}, {}};
    for (const std::size_t ray : rays) part.b.push_back(b[ray]);
    part.rows = inverse(part.A.row_sums());
    part.columns = inverse(part.A.column_sums());
    parts.push_back(std::move(part));
  }
  Vector x(A.columns(), 0.0);
  for (int k = 1; k <= passes; ++k) {
    for (const auto& part : parts) {
      const Vector r = product(minus(part.b, part.A.times(x)), part.rows);
      add(x, relaxation, product(part.A.transposed_times(r), part.columns));
      if (non_negative)
        for (double& each : x) each = std::max(0.0, each);
    }
    tell(look, k, x);
  }
  return x;
}

Vector mlem(const RayMatrix& A, const Vector& b, Vector x, int iterations, const Look& look) {
  const Vector columns = inverse(A.column_sums());
  for (int k = 1; k <= iterations; ++k) {
    const Vector ratio = product(b, inverse(A.times(x)));
    x = product(std::move(x), product(A.transposed_times(ratio), columns));
    tell(look, k, x);
  }
  return x;
}

}  // namespace halocline::reference
