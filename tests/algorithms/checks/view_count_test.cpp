// labels: unit
#include "algorithms/checks/view_count.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

#include "tests/reference/projector_scenes.hpp"

namespace halocline::view_count_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double pi = std::numbers::pi;

Geometry scan(std::size_t views, double sdd = 1200, double arc = 360, double offset = 0) {
  return circular_geometry({.sid = 600, .sdd = sdd, .projections = views, .arc = arc, .projection_offset_x = offset});
}

ViewCount count(const Geometry& geometry, double pixel = 1.25, std::size_t columns = 256, std::size_t voxels = 128) {
  return view_count(geometry, reference::detector(columns, 8, geometry.views.size(), pixel, pixel),
                    default_grid({voxels, voxels, 4}, {1, 1, 1}));
}

// The scan of scripts/demo.
TEST(ViewCount, AFullTurnTakesHalfPiViewsAColumn) {
  const ViewCount found = count(scan(256));
  EXPECT_EQ(found.views, 256u);
  EXPECT_NEAR(found.columns, 128, 1e-9);
  EXPECT_NEAR(found.needed, 64 * pi, 1e-6);
  EXPECT_THAT(too_few_views(found, "'scan.xml'"), IsEmpty());
  EXPECT_THAT(too_few_views(count(scan(60)), "'scan.xml'"),
              AllOf(HasSubstr("'scan.xml': 60 different angles"), HasSubstr("128 voxels"), HasSubstr("about 202")));
}

TEST(ViewCount, OppositeViewsOfAParallelBeamAreOne) {
  const ViewCount half = count(scan(180, 0, 180), 0.625), turn = count(scan(180, 0, 360), 0.625);
  EXPECT_EQ(half.views, 180u);
  EXPECT_EQ(turn.views, 90u);
  EXPECT_NEAR(half.needed, 64 * pi, 1e-6);
  EXPECT_NEAR(turn.needed, 64 * pi, 1e-6);
  EXPECT_FALSE(half.few());
  EXPECT_TRUE(turn.few());
}

TEST(ViewCount, AShortScanTakesAsManyAsItsArcIsLong) {
  const ViewCount found = count(scan(220, 1200, 220));
  EXPECT_NEAR(found.needed, 64 * pi * 219 / 180, 1e-6);
}

TEST(ViewCount, ADisplacedDetectorTakesTwiceAsMany) {
  EXPECT_NEAR(count(scan(256, 1200, 360, 80)).needed, 128 * pi, 1e-6);
}

TEST(ViewCount, OnlyWhatIsSeenCountsAndNoFinerThanThePixels) {
  // 64 pixels of 0.5 mm at the isocentre see 32 mm of 128
  const ViewCount narrow = count(scan(60), 1, 64);
  EXPECT_NEAR(narrow.columns, 32, 0.1);
  EXPECT_FALSE(narrow.few());
  EXPECT_NEAR(count(scan(60), 8).columns, 32, 1e-9);  // pixels of 4 mm there
}

}  // namespace
}  // namespace halocline::view_count_test
