// labels: device
// Rays in faces between voxels: half for the voxels on either side, whatever the rounding.
#include <gtest/gtest.h>

#include <numbers>

#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/ray_faces.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::siddon_faces_test {
namespace {

using reference::device;

Geometry parallel(std::vector<double> angles) {
  CircularOptions options;
  options.sid = 100;
  options.sdd = 0;
  options.angles = std::move(angles);
  return circular_geometry(options);
}

// 10 voxels, 11 columns and rows: all rays run in faces, those at the ends in outer ones.
TEST(SiddonFaces, AUniformCubeIsSymmetric) {
  const Volume cube(default_grid({10, 10, 10}, {1, 1, 1}), 1);
  const Grid stack = reference::detector(11, 11, 4, 1, 1);
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
    const Volume found = project(cube, parallel({0, 90, 180, 270}), stack, {projector}, device()).output;
    for (std::size_t view = 0; view < 4; ++view)
      for (std::size_t row = 0; row < 11; ++row)
        for (std::size_t column = 0; column < 11; ++column) {
          const int ends = (column % 10 == 0 ? 1 : 0) + (row % 10 == 0 ? 1 : 0);
          ASSERT_NEAR(found.at(column, row, view),
                      ends == 0   ? 10
                      : ends == 1 ? 5
                                  : 2.5,
                      1e-4)
              << projector_name(projector) << ' ' << column << ' ' << row << ' ' << view;
        }
  }
}

// Half a turn apart, a ray is the same line.
TEST(SiddonFaces, ARayAndItsReverseAreAlike) {
  const Volume volume = reference::random_volume(default_grid({10, 8, 6}, {1, 1, 1}), 3);
  const Grid stack = reference::detector(11, 7, 8, 1, 1);
  const auto found =
      project(volume, parallel({0, 45, 90, 135, 180, 225, 270, 315}), stack, {Projector::siddon}, device()).output;
  for (std::size_t view = 0; view < 4; ++view)
    for (std::size_t row = 0; row < 7; ++row)
      for (std::size_t column = 0; column < 11; ++column)
        ASSERT_NEAR(found.at(column, row, view), found.at(10 - column, row, view + 4), 1e-4)
            << column << ' ' << row << ' ' << view;
}

TEST(SiddonFaces, AreSharedByTheVoxelsOnEitherSide) {
  const Grid grid = default_grid({4, 6, 2}, {1, 1, 1});  // the ray of the pixel follows j, in a face across i
  Volume volume(grid);
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t j = 0; j < 6; ++j)
      for (std::size_t i = 0; i < 4; ++i) volume.at(i, j, k) = static_cast<float>(i == 1 ? j : i == 2 ? 100 : 1000);
  Grid pixel = reference::detector(1, 1, 1, 1, 1);
  pixel.origin = {0, 0.5, 0};
  const float found = project(volume, parallel({0}), pixel, {Projector::siddon}, device()).output.voxels.front();
  EXPECT_NEAR(found, 0.5 * (0 + 1 + 2 + 3 + 4 + 5) + 0.5 * 600, 1e-3);
  pixel.origin = {0, 0, 0};  // and along an edge of four
  EXPECT_NEAR(project(volume, parallel({0}), pixel, {Projector::siddon}, device()).output.voxels.front(),
              0.5 * 15 + 0.5 * 600, 1e-3);
}

// The search for such rays, beside a test of each ray in double.
TEST(SiddonFaces, AreFoundWhereThereAre) {
  const auto may = [](const Geometry& geometry, const Grid& grid, const Grid& stack) {
    return may_run_in_faces(make_rays(geometry, grid, stack), grid, stack);
  };
  const Grid even = default_grid({10, 10, 10}, {1, 1, 1}), odd = default_grid({11, 11, 11}, {1, 1, 1});
  EXPECT_TRUE(may(parallel({0}), even, reference::detector(11, 10, 1, 1, 1)));
  EXPECT_TRUE(may(parallel({0}), even, reference::detector(10, 11, 1, 1, 1)));
  EXPECT_TRUE(may(parallel({17}), even, reference::detector(10, 11, 1, 1, 1))) << "a row in a face of slices";
  EXPECT_FALSE(may(parallel({0}), even, reference::detector(10, 10, 1, 1, 1)));
  EXPECT_FALSE(may(parallel({17}), even, reference::detector(11, 10, 1, 1, 1)));
  EXPECT_FALSE(may(parallel({0}), odd, reference::detector(11, 11, 1, 1, 1)));
  CircularOptions options;
  options.sid = 100;
  options.sdd = 150;
  options.angles = {7, 90, 200};
  const Geometry cone = circular_geometry(options);
  EXPECT_TRUE(may(cone, even, reference::detector(20, 21, 3, 1.1, 1.1))) << "the middle row";
  EXPECT_TRUE(may(cone, even, reference::detector(21, 20, 3, 1.1, 1.1))) << "the middle column of one view";
  EXPECT_FALSE(may(cone, even, reference::detector(20, 20, 3, 1.1, 1.1)));
  EXPECT_FALSE(may(cone, odd, reference::detector(21, 21, 3, 1.1, 1.1)));
}

}  // namespace
}  // namespace halocline::siddon_faces_test
