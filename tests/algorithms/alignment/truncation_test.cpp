// labels: unit
// Objects that reach over the detector's edge, in all views or in some.
#include "algorithms/alignment/truncation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace halocline::truncation_test {
namespace {

/// 60 views of 100 x 3 columns; a bar that is `wide` columns long in the first views and 8 deep, turning.
Volume bar(double wide, double off) {
  Grid grid{.size = {100, 3, 60}};
  Volume out(grid);
  for (std::size_t view = 0; view < 60; ++view) {
    const double angle = std::acos(-1.0) * static_cast<double>(view) / 60;
    const double half = 0.5 * (wide * std::abs(std::cos(angle)) + 8 * std::abs(std::sin(angle)));
    for (std::size_t n = 0; n < 300; ++n)
      if (std::abs(static_cast<double>(n % 100) - 49.5 - off * std::cos(angle)) < half)
        out.voxels[view * 300 + n] = static_cast<float>(8 * wide / (2 * half));
  }
  return out;
}

TEST(Truncation, TellsInHowManyViewsTheObjectIsCutOff) {
  EXPECT_EQ(truncated_views(bar(90, 0), {}), 0);
  EXPECT_EQ(truncated_views(bar(60, 15), {}), 0);
  EXPECT_NEAR(truncated_views(bar(150, 0), {}), 0.55, 0.1);  // a plate, in about half of them
  EXPECT_GT(truncated_views(bar(60, 40), {}), 0.3);          // over one edge
  Redundancy displaced{.columns_before = 30, .columns_after = 30};
  EXPECT_EQ(truncated_views(bar(150, 0), displaced), 0);
  EXPECT_EQ(truncated_views(Volume(bar(1, 0).grid), {}), 0);
}

TEST(Truncation, IsNotNoise) {
  std::mt19937 random(3);
  std::normal_distribution<float> noise(0, 4);  // half of the plate's greatest
  for (const double wide : {60, 150}) {
    Volume projections = bar(wide, 0);
    for (float& value : projections.voxels) value += noise(random);
    if (wide < 100)
      EXPECT_LT(truncated_views(projections, {}), 0.05);
    else
      EXPECT_GT(truncated_views(projections, {}), 0.1);
  }
}

}  // namespace
}  // namespace halocline::truncation_test
