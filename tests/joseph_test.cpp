// labels: device slab
// Joseph's forward projector against double precision, and one slab against many.
#include "algorithms/joseph.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/phantoms.hpp"
#include "host/error.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline {
namespace {

using reference::device;

class JosephScenes : public testing::TestWithParam<reference::Scene> {};

TEST_P(JosephScenes, MatchesDoublePrecision) {
  const auto& scene = GetParam();
  const Volume volume = reference::random_volume(scene.grid, 7);
  const auto expected = reference::joseph(volume, scene.geometry, scene.projections);
  const auto result = project(volume, scene.geometry, scene.projections, device());
  ASSERT_GT(reference::largest(expected), 0);
  EXPECT_LT(reference::largest_difference(result.output.voxels, expected), 2e-5 * reference::largest(expected));
}

TEST_P(JosephScenes, SlabsBatchesAndDevicesChangeNoBit) {
  const auto& scene = GetParam();
  const Volume volume = reference::random_volume(scene.grid, 8);
  const auto whole = project(volume, scene.geometry, scene.projections, device()).output.voxels;
  for (const int slabs : {1, 2, 3, static_cast<int>(scene.grid.size[2])}) {
    if (slabs > static_cast<int>(scene.grid.size[2])) continue;
    for (const int batch : {1, 5, 16}) {
      RunOptions options;
      options.plan.minimum_slabs = slabs;
      options.plan.batch = batch;
      const auto result = project(volume, scene.geometry, scene.projections, device(), options);
      EXPECT_GE(static_cast<int>(result.plan.slabs.size()), slabs);
      EXPECT_TRUE(result.output.voxels == whole) << slabs << " slabs, batches of " << batch;
    }
  }
  EXPECT_TRUE(project(volume, scene.geometry, scene.projections, reference::sub_devices(2)).output.voxels ==
              project(volume, scene.geometry, scene.projections, reference::undivided()).output.voxels);
}

INSTANTIATE_TEST_SUITE_P(All, JosephScenes, testing::ValuesIn(reference::scenes()),
                         [](const auto& info) { return info.param.name; });

TEST(Joseph, BallAgreesWithItsLineIntegrals) {
  // off centre, seen by a cone beam; voxels much smaller than the ball
  Primitive ball;
  ball.semi_axes = {12, 12, 12};
  ball.centre = {5, -4, 7};
  ball.value = 0.02;
  CircularOptions options;
  options.sid = 150;
  options.sdd = 250;
  options.projections = 8;
  options.first_angle = 5;
  const Geometry geometry = circular_geometry(options);
  const Grid projections = reference::detector(40, 40, 8, 2, 2);
  const auto expected = project_analytic({ball}, geometry, projections);
  const Volume volume = voxelise({ball}, default_grid({48, 64, 56}, {1, 0.75, 0.8}), 4);
  const auto found = project(volume, geometry, projections, device());
  double sum_found = 0, sum_expected = 0, squares = 0;
  for (std::size_t n = 0; n < expected.voxels.size(); ++n) {
    sum_found += found.output.voxels[n];
    sum_expected += expected.voxels[n];
    squares += std::pow(found.output.voxels[n] - expected.voxels[n], 2);
  }
  EXPECT_NEAR(sum_found, sum_expected, 2e-3 * sum_expected);
  EXPECT_LT(std::sqrt(squares / static_cast<double>(expected.voxels.size())), 0.01 * 24 * 0.02);
}

TEST(Joseph, RefusesAGeometryOfAnotherScan) {
  const auto scene = reference::scenes().front();
  Geometry geometry = scene.geometry;
  geometry.views.pop_back();
  EXPECT_THROW(project(reference::random_volume(scene.grid, 1), geometry, scene.projections, device()), InputError);
}

}  // namespace
}  // namespace halocline
