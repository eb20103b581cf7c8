// labels: unit
// Totals of projections, by parts of rows.
#include "algorithms/solvers/ray_totals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halocline::ray_totals_test {
namespace {

Volume stack_of(std::size_t columns, std::size_t rows, std::size_t views, unsigned seed) {
  Volume stack(Grid{.size = {columns, rows, views}});
  for (std::size_t n = 0; n < stack.voxels.size(); ++n)
    stack.voxels[n] = static_cast<float>((n + seed) * 7919 % 1009) / 1009 - 0.3f;
  return stack;
}

TEST(RayTotals, AreThoseOfAllPixels) {
  for (const auto& size : {std::array<std::size_t, 3>{1, 1, 1}, {7, 93, 5}, {3, 32, 4}, {3, 33, 4}, {93, 1, 7}}) {
    const Volume b = stack_of(size[0], size[1], size[2], 1);
    Volume w = stack_of(size[0], size[1], size[2], 500);
    for (float& each : w.voxels) each = std::max(0.0f, each);
    double norm2 = 0, weighted = 0, rays = 0;
    for (std::size_t n = 0; n < b.voxels.size(); ++n) {
      norm2 += static_cast<double>(b.voxels[n]) * b.voxels[n];
      weighted += static_cast<double>(w.voxels[n]) * b.voxels[n] * b.voxels[n];
      rays += w.voxels[n] > 0;
    }
    const MemorySource projections(b), weights(w);
    const RayTotals alone = ray_totals(projections, nullptr, nullptr),
                    both = ray_totals(projections, &weights, nullptr);
    EXPECT_NEAR(alone.norm2, norm2, 1e-13 * norm2);
    EXPECT_EQ(alone.rays, static_cast<double>(b.voxels.size()));
    EXPECT_NEAR(both.norm2, weighted, 1e-13 * norm2);
    EXPECT_EQ(both.rays, rays);
    EXPECT_TRUE(alone.good && both.good);
  }
}

TEST(RayTotals, FindWeightsThatAreNone) {
  const Volume b = stack_of(3, 70, 2, 1);
  for (const float wrong : {-1.0f, std::numeric_limits<float>::infinity(), std::nanf("")})
    for (const std::size_t n : {std::size_t{0}, std::size_t{200}, std::size_t{419}}) {
      Volume w(b.grid, 1);
      w.voxels[n] = wrong;
      const MemorySource weights(w);
      EXPECT_FALSE(ray_totals(MemorySource(b), &weights, nullptr).good) << wrong << " at " << n;
    }
}

}  // namespace
}  // namespace halocline::ray_totals_test
