// labels: unit
// The oracles of the total-variation methods against the definitions, and the schedules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "algorithms/denoisers/schedule.hpp"
#include "host/system/error.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::tv_operators_test {
namespace {

using namespace reference;

Image random_image(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Image image(count);
  for (auto& value : image) value = normal(generator);
  return image;
}

const Lattice lattices[] = {{{1, 1, 1}, {0.5, 0.8, 1.7}},  {{1, 1, 9}, {0.5, 0.8, 1.7}}, {{2, 7, 1}, {0.5, 0.8, 1.7}},
                            {{7, 2, 13}, {0.5, 0.8, 1.7}}, {{93, 7, 2}, {3, 1, 0.25}},   {{8, 8, 8}, {1, 1, 1}}};

TEST(TvOperators, DivergenceIsTheNegativeAdjointOfTheGradient) {
  for (const auto& lattice : lattices) {
    const Image u = random_image(lattice.count(), 1);
    const Field p = {random_image(lattice.count(), 2), random_image(lattice.count(), 3),
                     random_image(lattice.count(), 4)};
    const double a = inner(gradient(lattice, u), p), b = -inner(u, divergence(lattice, p));
    EXPECT_NEAR(a, b, 1e-12 * (std::abs(a) + std::sqrt(inner(u, u) * inner(p, p))));
  }
}

TEST(TvOperators, NormStaysBelowItsBoundAndComesClose) {
  for (const auto& lattice : lattices) {
    const double bound = gradient_norm2(lattice.size, lattice.spacing);
    Image u = random_image(lattice.count(), 5);
    double norm2 = 0;
    for (int n = 0; n < 200; ++n) {
      Image next = divergence(lattice, gradient(lattice, u));
      const double length = std::sqrt(inner(next, next));
      norm2 = length / std::sqrt(inner(u, u));
      if (length == 0) break;
      for (std::size_t i = 0; i < u.size(); ++i) u[i] = next[i] / length;
    }
    EXPECT_LE(norm2, bound * (1 + 1e-12));
    if (bound > 0) {
      EXPECT_GT(norm2, 0.5 * bound);
    }
  }
  EXPECT_DOUBLE_EQ(gradient_norm2({8, 8, 8}, {1, 1, 1}), 12);
  EXPECT_DOUBLE_EQ(gradient_norm2({8, 8, 1}, {1, 1, 0.01}), 8);
  EXPECT_DOUBLE_EQ(gradient_norm2({1, 1, 8}, {1, 1, 0.5}), 16);
  EXPECT_EQ(gradient_norm2({1, 1, 1}, {1, 1, 1}), 0);
}

TEST(TvOperators, VariationOfAStepIsItsHeightTimesItsArea) {
  const Lattice lattice{{4, 5, 6}, {0.5, 0.8, 1.7}};
  Image u(lattice.count(), 0.0);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = lattice.position(i, 2) >= 3 ? 2 : 0;
  // a sum over voxels, not an integral: 20 voxels with a slope of 2 / 1.7
  EXPECT_NEAR(total_variation(lattice, u), 20 * 2 / 1.7, 1e-12);
  EXPECT_NEAR(smoothed_variation(lattice, u, 0), 20 * 2 / 1.7, 1e-12);
}

TEST(TvOperators, GradientOfTheSmoothedVariationIsItsDerivative) {
  for (const auto& lattice : lattices) {
    const Image u = random_image(lattice.count(), 6);
    const Image g = smoothed_variation_gradient(lattice, u, 0.1);
    const Field c = adaptive_weights(lattice, u, 1.5);
    const Image adaptive = smoothed_variation_gradient(lattice, u, 0.1, c);
    for (std::size_t i = 0; i < u.size(); i += 1 + u.size() / 17) {
      const double h = 1e-5;
      Image above = u, below = u;
      above[i] += h;
      below[i] -= h;
      const double slope =
          (smoothed_variation(lattice, above, 0.1) - smoothed_variation(lattice, below, 0.1)) / (2 * h);
      EXPECT_NEAR(g[i], slope, 1e-6) << "voxel " << i;
      // with weights as they are at u
      const double held =
          (smoothed_variation(lattice, above, 0.1, c) - smoothed_variation(lattice, below, 0.1, c)) / (2 * h);
      EXPECT_NEAR(adaptive[i], held, 1e-6) << "voxel " << i;
    }
  }
}

TEST(Schedule, StandardStepsStayStable) {
  for (const auto schedule : {Schedule::standard, Schedule::zhu_chan}) {
    const auto steps = make_steps(schedule, 3000, 12, 1);  // throws if not
    ASSERT_EQ(steps.size(), 3000u);
    EXPECT_DOUBLE_EQ(steps[2999].dual, steps[500].dual);
    for (const auto& each : steps) EXPECT_LT(each.primal * each.dual, 4 - 2 * each.primal);
  }
}

TEST(Schedule, ZhuAndChansStepsAreTheirsScaled) {
  const auto steps = make_steps(Schedule::zhu_chan, 101, 12, 1);
  EXPECT_DOUBLE_EQ(steps[0].dual, 2.4);
  EXPECT_DOUBLE_EQ(steps[0].primal, 4 * (1 - 10.0 / 15) / 2.4);
  EXPECT_DOUBLE_EQ(steps[100].dual, 98.4);
}

TEST(Schedule, SeedStepsAreAsPublishedNegativeAtFirst) {
  const auto steps = make_steps(Schedule::seed, 100, 12, 1);
  EXPECT_DOUBLE_EQ(steps[0].dual, 0.3);
  EXPECT_NEAR(steps[0].primal, (1.0 / 6 - 1.0 / 3) / 0.3, 1e-15);
  for (int k = 0; k < 15; ++k) EXPECT_LT(steps[k].primal, 0) << k;
  EXPECT_NEAR(steps[15].primal, 0, 1e-15);
  for (int k = 16; k < 100; ++k) EXPECT_GT(steps[k].primal, 0) << k;
}

TEST(Schedule, ChambolleAndPocksStepsKeepTheirProduct) {
  for (const double gamma : {1.0, 0.1}) {
    const auto steps = make_steps(Schedule::chambolle_pock, 200, 12, gamma);
    for (std::size_t n = 0; n < steps.size(); ++n) {
      EXPECT_NEAR(steps[n].dual * steps[n].primal * 12, 1, 1e-12);
      EXPECT_NEAR(steps[n].extrapolation, 1 / std::sqrt(1 + 2 * gamma * steps[n].primal), 1e-12);
      if (n > 0) {
        EXPECT_LT(steps[n].primal, steps[n - 1].primal);
      }
    }
    EXPECT_NEAR(steps.back().primal * 200 * gamma, 1, 0.1);  // tau falls like 1 / (gamma n)
  }
}

TEST(Schedule, NamesGoBothWays) {
  for (const char* name : {"default", "zhu-chan", "seed", "chambolle-pock"})
    EXPECT_EQ(schedule_name(schedule_named(name)), name);
  EXPECT_THAT(refusal_of([&] { schedule_named("fast"); }),
              testing::HasSubstr("`schedule` is \"fast\"; expected one of: default, zhu-chan, seed, chambolle-pock"));
}

}  // namespace
}  // namespace halocline::tv_operators_test
