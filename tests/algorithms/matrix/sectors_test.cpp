// labels: unit
// Sectors of a scan: each ray has one stored ray that stands for it, and scans without the symmetry are refused.
#include "algorithms/matrix/sectors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::sectors_test {
namespace {

using ::testing::HasSubstr;

struct Scan {
  std::size_t views = 16, columns = 20;
  double sdd = 0, offset = 0, first = 0, arc = 0;
  Grid grid = default_grid({12, 12, 1}, {1, 1, 1});

  Geometry geometry() const {
    CircularOptions options;
    options.sid = 100;
    options.sdd = sdd;
    options.projection_offset_x = offset;
    const double turn = arc > 0 ? arc : sdd > 0 ? 360 : 180;
    for (std::size_t n = 0; n < views; ++n)
      options.angles.push_back(first + turn * static_cast<double>(n) / static_cast<double>(views));
    return circular_geometry(options);
  }
  Sectors sectors() const {
    Grid stack = reference::detector(columns, 1, views, 1, 1);
    return sectors_of(geometry(), grid, stack);
  }
  std::string refusal() const {
    return refusal_of([&] { sectors(); });
  }
};

TEST(Sectors, EveryRayHasOneStoredRay) {
  for (const Scan& scan :
       {Scan{}, Scan{.views = 18}, Scan{.columns = 21}, Scan{.views = 2, .columns = 1}, Scan{.first = 270},
        Scan{.first = 45}, Scan{.arc = 360}, Scan{.sdd = 200, .first = 45}, Scan{.views = 16, .sdd = 200},
        Scan{.views = 12, .sdd = 200}, Scan{.views = 4, .columns = 7, .sdd = 200, .first = 90}}) {
    const Sectors sectors = scan.sectors();
    SCOPED_TRACE(testing::Message() << scan.views << " views, " << scan.columns << " columns, SDD " << scan.sdd);
    std::vector<int> times(scan.views * scan.columns);
    const auto columns = static_cast<std::int32_t>(scan.columns);
    for (std::uint32_t sector = 0; sector < Sectors::count; ++sector)
      for (std::uint32_t view = 0; view < sectors.stored_views; ++view)
        for (auto column = static_cast<std::int32_t>(sectors.first_column); column < columns; ++column) {
          const SectorRay ray = ray_of_sector(sectors, columns, column, static_cast<std::int32_t>(view), sector);
          if (ray.column < 0) continue;
          ASSERT_LT(ray.column, columns);
          ASSERT_LT(static_cast<std::size_t>(ray.view), scan.views);
          ++times[static_cast<std::size_t>(ray.view) * scan.columns + static_cast<std::size_t>(ray.column)];
        }
    EXPECT_THAT(times, testing::Each(1));
  }
}

TEST(Sectors, ScansWithoutTheSymmetryAreRefused) {
  EXPECT_THAT((Scan{.offset = 0.3}.refusal()), HasSubstr("0.3 columns off the axis of rotation. Resample"));
  EXPECT_THAT((Scan{.sdd = 200, .offset = 0.5}.refusal()), HasSubstr("columns off the axis of rotation. Resample"));
  EXPECT_THAT((Scan{.views = 15}.refusal()), HasSubstr("15 views are no multiple of 2"));
  EXPECT_THAT((Scan{.views = 18, .sdd = 200}.refusal()), HasSubstr("18 views are no multiple of 4"));
  EXPECT_THAT((Scan{.first = 1}.refusal()), HasSubstr("half a turn from a multiple of 45 degrees on"));
  EXPECT_THAT((Scan{.sdd = 200, .first = 30}.refusal()), HasSubstr("a full turn from a multiple of 45 degrees on"));
  EXPECT_THAT((Scan{.arc = 170}.refusal()), HasSubstr("equal steps over half a turn"));
  EXPECT_THAT((Scan{.grid = default_grid({12, 13, 1}, {1, 1, 1})}.refusal()), HasSubstr("12 x 13 voxels of 1 x 1 mm"));
  EXPECT_THAT((Scan{.grid = default_grid({12, 12, 1}, {1, 1.1, 1})}.refusal()), HasSubstr("1 x 1.1 mm"));
  Scan moved;
  moved.grid.origin[0] += 0.5;
  EXPECT_THAT(moved.refusal(), HasSubstr("slice's middle is off the axis"));
  EXPECT_THAT(moved.refusal(), HasSubstr("or use `operator = matrix`"));
}

}  // namespace
}  // namespace halocline::sectors_test
