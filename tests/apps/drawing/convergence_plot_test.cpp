// labels: app
// The picture of a convergence: the place of its curve.
#include "apps/drawing/convergence_plot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace halocline::convergence_plot_test {
namespace {

std::size_t black_pixels(const GreyImage& image, std::size_t left, std::size_t top, std::size_t right,
                         std::size_t bottom) {
  std::size_t count = 0;
  for (std::size_t y = top; y < bottom; ++y)
    for (std::size_t x = left; x < right; ++x) count += image.pixels[x + image.width * y] < 64 ? 1 : 0;
  return count;
}

// The inside of the axes, without what stands beside them.
constexpr std::size_t left = 120, middle_x = 440, right = 765, top = 45, middle_y = 240, bottom = 435;

TEST(ConvergencePlot, ACurveThatFallsGoesFromUpperLeftToLowerRight) {
  const GreyImage image = convergence_plot({{1, 1}, {50, 1e-3}, {100, 1e-6}}, "PASSES", "GAP");
  EXPECT_GT(black_pixels(image, left, top, middle_x, middle_y), 300u);
  EXPECT_GT(black_pixels(image, middle_x, middle_y, right, bottom), 300u);
  EXPECT_EQ(black_pixels(image, left, middle_y + 20, middle_x - 40, bottom), 0u);
  EXPECT_EQ(black_pixels(image, middle_x + 40, top, right, middle_y - 20), 0u);
}

TEST(ConvergencePlot, WhatHasNoLogarithmIsLeftOut) {
  const auto all = convergence_plot({{1, 1}, {2, 0}, {3, std::numeric_limits<double>::infinity()}, {4, 0.1}}, "X", "Y");
  const auto some = convergence_plot({{1, 1}, {4, 0.1}}, "X", "Y");
  EXPECT_EQ(all.pixels, some.pixels);
  EXPECT_GT(black_pixels(convergence_plot({}, "X", "Y"), 0, 0, 800, 500), 0u) << "the axes' titles";
}

}  // namespace
}  // namespace halocline::convergence_plot_test
