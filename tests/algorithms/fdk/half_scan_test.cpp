// labels: unit
#include "algorithms/fdk/half_scan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <numeric>

#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::half_scan_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Geometry views_at(const std::vector<double>& degrees, double sdd = 900) {
  Geometry geometry;
  for (const double angle : degrees) {
    View view{.sid = 600, .sdd = sdd, .gantry_angle = angle};
    view.projection_offset_x = angle;  // to know it by
    geometry.views.push_back(view);
  }
  return geometry;
}

double gap_sum(const Geometry& geometry) {
  const auto gaps = angular_coverage(geometry).gaps;
  return std::accumulate(gaps.begin(), gaps.end(), 0.0);
}

TEST(HalfScan, TakesEveryOtherView) {
  Geometry geometry = views_at({0, 60, 120, 180, 240, 300});
  geometry.radius_cylindrical_detector = 700;
  const auto halves = half_scans(geometry);
  EXPECT_THAT(halves[0].views, ElementsAre(0, 2, 4));
  EXPECT_THAT(halves[1].views, ElementsAre(1, 3, 5));
  EXPECT_EQ(halves[1].geometry.views[1].projection_offset_x, 180);
  EXPECT_EQ(halves[1].geometry.radius_cylindrical_detector, 700);
  for (const auto& half : halves) EXPECT_NEAR(gap_sum(half.geometry), 2 * std::numbers::pi, 1e-12);
}

TEST(HalfScan, GoesByAngleNotByAcquisition) {
  const auto halves = half_scans(views_at({200, 40, 0, 240, 80, 280, 120, 320, 160}));
  // round the circle: 2, 1, 4, 6, 8, 0, 3, 5, 7
  EXPECT_THAT(halves[0].views, ElementsAre(2, 3, 4, 7, 8));
  EXPECT_THAT(halves[1].views, ElementsAre(0, 1, 5, 6));
  for (const auto& half : halves) EXPECT_NEAR(gap_sum(half.geometry), 2 * std::numbers::pi, 1e-12);
}

TEST(HalfScan, RepeatedAndOppositeParallelViewsAreShared) {
  const auto repeated = half_scans(views_at({0, 90, 180, 270, 360, 450, 540, 630}));
  EXPECT_THAT(repeated[0].views, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(repeated[1].views, ElementsAre(4, 5, 6, 7));
  std::vector<double> turn;
  for (int n = 0; n < 20; ++n) turn.push_back(18 * n);
  const auto opposite = half_scans(views_at(turn, 0));
  for (const auto& half : opposite) {
    ASSERT_EQ(half.views.size(), 10u);
    std::vector<std::size_t> direction;
    for (const std::size_t view : half.views) direction.push_back(view % 10);
    std::sort(direction.begin(), direction.end());
    EXPECT_THAT(direction, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    EXPECT_TRUE(angular_coverage(half.geometry, true, true).full_circle);
  }
  turn.clear();
  for (int n = 0; n < 41; ++n) turn.push_back(360.0 / 41 * n);  // none opposite
  for (const auto& half : half_scans(views_at(turn, 0)))
    EXPECT_TRUE(angular_coverage(half.geometry, true, true).full_circle);
}

TEST(HalfScan, NeedsTwoViews) {
  EXPECT_THAT(refusal_of([&] { half_scans(views_at({10})); }), HasSubstr("1 view; two halves need two"));
}

TEST(HalfScan, SelectsProjections) {
  Grid grid{.size = {3, 2, 5}, .spacing = {0.5, 2, 1}, .origin = {-1, 7, 0}};
  Volume stack(grid);
  std::iota(stack.voxels.begin(), stack.voxels.end(), 0.0f);
  const Volume some = select_views(stack, {0, 3, 4});
  EXPECT_THAT(some.grid.size, ElementsAre(3, 2, 3));
  EXPECT_EQ(some.grid.origin, grid.origin);
  EXPECT_EQ(some.grid.spacing, grid.spacing);
  for (std::size_t n = 0; n < 18; ++n) EXPECT_EQ(some.voxels[n], static_cast<float>(n < 6 ? n : n + 12));
}

}  // namespace
}  // namespace halocline::half_scan_test
