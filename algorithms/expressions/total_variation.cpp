#include "algorithms/expressions/total_variation.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/system/error.hpp"

namespace halocline::expressions {
namespace {

// Voxel by voxel.
auto length(const Array& x, const Array& y, const Array& z) {
  return sqrt(x * x + y * y + z * z);
}

// D^T q.
Array adjoint_of(const std::array<Array, 3>& q) {
  return adjoint_gradient(q[0], 0) + adjoint_gradient(q[1], 1) + adjoint_gradient(q[2], 2);
}

}  // namespace

Scalar total_variation(const Array& x) {
  const Array a = gradient(x, 0), b = gradient(x, 1), c = gradient(x, 2);
  return sum(length(a, b, c));
}

TvProx::TvProx(const Space& space, const TvOptions& options)
    : options_(options), norm2_(0), q_{zeros(space), zeros(space), zeros(space)} {
  if (space.kind() != ArrayKind::volume)
    throw InputError({.what = "the space of a total variation", .found = space.text(), .expected = "volumes"});
  if (!(options.lambda > 0) || !std::isfinite(options.lambda))
    throw InputError({.what = "`lambda`", .found = fmt::format("{:g}", options.lambda), .expected = "above 0"});
  if (!(options.lower < options.upper))
    throw InputError({.what = "`lower`",
                      .found = fmt::format("{:g}", options.lower),
                      .expected = fmt::format("a number below `upper`, which is {:g}", options.upper)});
  const Grid& grid = space.grid();
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (grid.size[axis] > 1) norm2_ += 4 / (grid.spacing[axis] * grid.spacing[axis]);
}

Array TvProx::operator()(const Array& z, const Array& tau, int iterations) {
  const auto primal = [&] { return Array(clamp(z - tau * adjoint_of(q_), options_.lower, options_.upper)); };
  if (norm2_ == 0) return primal();
  // no step of a difference is longer than those of its two voxels allow
  const Array step = 1 / (norm2_ * max(max(tau, shift(tau, 0, 1)), max(shift(tau, 1, 1), shift(tau, 2, 1))));
  for (int n = 0; n < iterations; ++n) {
    const Array x = primal();
    for (int axis = 0; axis < 3; ++axis) q_[static_cast<std::size_t>(axis)] += step * gradient(x, axis);
    const Array over = max(1, length(q_[0], q_[1], q_[2]) / options_.lambda);
    for (Array& each : q_) each /= over;
  }
  return primal();
}

DualityGap duality_gap(const LinearOperator& A, const Array& b, const Array& w, const Array& x, const TvProx& prox) {
  const auto& [lambda, lower, upper] = prox.options();
  const auto& q = prox.dual();
  const Array misfit = A * x - b, r = w * misfit;
  const Scalar data = 0.5 * dot(r, misfit);
  const Array back = adjoint(A) * r, z = back + adjoint_of(q);
  const Array dx = gradient(x, 0), dy = gradient(x, 1), dz = gradient(x, 2), edges = length(dx, dy, dz);
  const Scalar variation = sum(edges);
  const Scalar unfit = sum(lambda * edges - (q[0] * dx + q[1] * dy + q[2] * dz)),
               bound = sum(max(z, 0) * (x - lower) + max(-z, 0) * (upper - x));
  DualityGap result;
  result.primal = value(data + lambda * variation);
  result.gap = value(unfit + bound);
  return result;
}

}  // namespace halocline::expressions
