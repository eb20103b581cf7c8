// labels: device slab error nightly
// Total variation in formulas: its value, its proximal operator against the double-precision denoiser, and a gap that
// is never below the true one.
#include "algorithms/expressions/total_variation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/expressions/context.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "host/system/error.hpp"
#include "tests/reference/iterative_problems.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::expressions::total_variation_test {
namespace {

using reference::device;
using reference::Vector;
using reference::vector_of;
using testing::HasSubstr;

const Grid grid{{9, 11, 7}, {1, 0.5, 2}};

// sum |D x|, from the definition.
double variation(const Grid& at, const Vector& x) {
  const auto [nx, ny, nz] = at.size;
  const std::size_t strides[] = {1, nx, nx * ny};
  double sum = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const std::size_t place[] = {n % nx, n / nx % ny, n / (nx * ny)};
    double square = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (place[axis] + 1 < at.size[axis]) square += std::pow((x[n + strides[axis]] - x[n]) / at.spacing[axis], 2);
    sum += std::sqrt(square);
  }
  return sum;
}

TEST(TotalVariation, IsThatOfTheDefinition) {
  const Context on(device());
  const Space space = on.volume(grid);
  const Volume x = reference::random_volume(grid, 1);
  const double expected = variation(grid, vector_of(x));
  EXPECT_NEAR(value(total_variation(load(space, x))), expected, 1e-5 * expected);
  EXPECT_EQ(value(total_variation(constant(space, 3))), 0);
}

// The objective of the proximal operator.
double objective(const Vector& x, const Vector& z, const Vector& tau, double lambda) {
  double sum = lambda * variation(grid, x);
  for (std::size_t n = 0; n < x.size(); ++n) sum += (x[n] - z[n]) * (x[n] - z[n]) / (2 * tau[n]);
  return sum;
}

TEST(TvProximal, FindsTheMinimumOverTheBounds) {
  constexpr double lambda = 0.05, lower = 0.2, upper = 0.7;
  const Volume z = reference::random_volume(grid, 2);
  Volume tau = reference::random_volume(grid, 3);
  for (float& each : tau.voxels) each = 0.3f + each;
  const auto found = [&](int calls, int iterations, const PlanOptions& options = {}) {
    const Context on(device(), options);
    const Space space = on.volume(grid);
    TvProx prox(space, {.lambda = lambda, .lower = lower, .upper = upper});
    const Array at = load(space, z), step = load(space, tau);
    Array x;
    for (int n = 0; n < calls; ++n) x = prox(at, step, iterations);
    return read(x);
  };
  const Volume x = found(1, 400);
  const double least = objective(vector_of(x), vector_of(z), vector_of(tau), lambda);
  for (const float each : x.voxels) EXPECT_TRUE(each >= static_cast<float>(lower) && each <= static_cast<float>(upper));
  // the minimum of a convex function is one along all directions within the bounds
  for (unsigned seed = 10; seed < 30; ++seed) {
    const Vector other = vector_of(reference::random_volume(grid, seed));
    for (const double t : {0.3, 0.03, 0.003}) {
      Vector between = vector_of(x);
      for (std::size_t n = 0; n < between.size(); ++n)
        between[n] += t * (lower + (upper - lower) * other[n] - between[n]);
      EXPECT_GT(objective(between, vector_of(z), vector_of(tau), lambda), least * (1 - 1e-5)) << seed << ", " << t;
    }
  }
  // the dual is kept from call to call, and slabs change nothing
  EXPECT_TRUE(found(8, 50).voxels == x.voxels);
  PlanOptions slabs;
  slabs.minimum_slabs = 3;
  EXPECT_TRUE(found(1, 400, slabs).voxels == x.voxels);
}

TEST(DualityGaps, AreNeverBelowTheTrueOnes) {
  const auto scan = reference::penalised_scan(24, 20, 2e4, 3);
  const auto& problem = scan.problem;
  const Vector start(problem.A.columns(), 0.0);
  const auto minimiser = reference::spdhg(
      problem, reference::rays_of(scan.scene, 20), start,
      {.passes = 300,
       .order = [](int pass) { return ViewSubsets(20, 20).permutation(1, static_cast<std::uint64_t>(pass)); },
       .look = {}});
  const double minimum = problem.value(minimiser.x);
  const Context on(device());
  const LinearOperator A = projector(on, scan.scene.geometry, scan.scene.grid, scan.scene.projections);
  const Array b = load(A.range(), reference::volume_of(scan.scene.projections, problem.b)),
              w = load(A.range(), reference::volume_of(scan.scene.projections, problem.w));
  const Array best = load(A.domain(), reference::volume_of(scan.scene.grid, minimiser.x)),
              step = constant(A.domain(), 1e-9);
  TvProx prox(A.domain(), {.lambda = problem.lambda, .lower = problem.lower, .upper = problem.upper});
  double first = 0;
  for (int n = 0; n < 12; ++n) {
    const double far = n < 6 ? std::pow(0.1, n) : 0;
    const Array x = best + far * (0.5 * problem.upper * uniform(A.domain(), static_cast<std::uint64_t>(n)) - best);
    const auto found = duality_gap(A, b, w, x, prox);
    const double exact = problem.value(vector_of(read(x)));
    EXPECT_NEAR(found.primal, exact, 1e-5 * exact) << n;
    EXPECT_GE(found.gap, found.primal - minimum * (1 + 1e-6)) << n;
    EXPECT_EQ(found.relative(), found.gap / found.primal);
    if (n == 0) first = found.gap;
    // a better dual of the differences: of the proximal operator at the gradient step of the minimiser
    const Array g = adjoint(A) * (w * (A * best - b));
    prox(best - step * g, step, 200);
  }
  EXPECT_LT(duality_gap(A, b, w, best, prox).gap, 0.1 * first);
}

TEST(TotalVariation, SaysWhatIsWrong) {
  const Context on(device());
  const Space volume = on.volume(grid), rays = on.projections({{3, 4, 5}});
  const auto error_of = [](const auto& function) -> std::string {
    try {
      function();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of([&] { TvProx(volume, {.lambda = 0}); }), HasSubstr("`lambda` is 0; expected above 0"));
  EXPECT_THAT(error_of([&] { TvProx(volume, {.lower = 1, .upper = 1}); }),
              HasSubstr("`lower` is 1; expected a number below `upper`, which is 1"));
  EXPECT_THAT(error_of([&] { TvProx(rays, {}); }), HasSubstr("expected volumes"));
  TvProx prox(volume, {});
  EXPECT_NE(error_of([&] { prox(zeros(rays), zeros(volume), 1); }), "");
}

}  // namespace
}  // namespace halocline::expressions::total_variation_test
