// labels: device slab dealt
// Adjoints in bricks (cl/bricks.clh), which GPUs take: against double precision, the portable form and
// the projector, whatever the split and the shape of groups.
#include "algorithms/projectors/adjoint_bricks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/calibration/self_check.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::adjoint_bricks_test {
namespace {

using reference::device;
using reference::split;

constexpr AdjointBrick small{4, 2, 4, 2};  // several groups along every axis of small volumes

class AdjointBricks : public testing::TestWithParam<reference::Scene> {
 protected:
  const reference::Scene& scene = GetParam();
  Volume volume = reference::random_volume(scene.grid, 7), stack = reference::random_volume(scene.projections, 3);

  RayBackprojection method(const AdjointBrick* brick, Projector projector) const {
    return {scene.geometry, scene.projections, scene.grid, projector, true, brick};
  }
  Voxels found(const AdjointBrick* brick, Projector projector, const RunOptions& options = {},
               const std::vector<Device>& devices = device()) const {
    return run_program(program_of(method(brick, projector)), {{"raw", &stack}}, scene.grid, devices, options)
        .output.voxels;
  }
  bool has_bricks(Projector projector) const {
    return method(&small, projector).requirements().kernels != method(nullptr, projector).requirements().kernels;
  }
};

constexpr Projector::Named projectors[] = {Projector::joseph, Projector::siddon, Projector::distance_driven};

TEST_P(AdjointBricks, MatchDoublePrecisionAndThePortableForm) {
  for (const Projector projector : projectors) {
    SCOPED_TRACE(projector_name(projector));
    EXPECT_TRUE(has_bricks(projector) || projector != Projector::joseph);
    const auto expected = reference::backproject(projector, stack, scene.geometry, scene.grid);
    const double largest = reference::largest(expected);
    ASSERT_GT(largest, 0);
    // of a ray nearly along a face, float32 has few digits of the place where it changes voxels
    const double between = projector == Projector::siddon ? 1e-4 : 1e-5;
    const auto bricks = found(&small, projector), portable = found(nullptr, projector);
    for (std::size_t voxel = 0; voxel < expected.size(); ++voxel) {
      ASSERT_NEAR(bricks[voxel], expected[voxel], 2e-5 * largest) << "voxel " << voxel;
      ASSERT_NEAR(bricks[voxel], portable[voxel], between * largest) << "voxel " << voxel;
    }
  }
}

TEST_P(AdjointBricks, AreTheAdjoint) {
  for (const Projector projector : projectors) {
    const auto ax =
                   project(volume, scene.geometry, scene.projections, {.projector = projector}, device()).output.voxels,
               aty = found(&small, projector);
    const double forward = std::inner_product(ax.begin(), ax.end(), stack.voxels.begin(), 0.0);
    const double back = std::inner_product(aty.begin(), aty.end(), volume.voxels.begin(), 0.0);
    ASSERT_GT(forward, 0);
    EXPECT_NEAR(forward, back, 1e-6 * forward) << projector_name(projector);
  }
}

TEST_P(AdjointBricks, NoSplitAndNoShapeChangesABit) {
  for (const Projector projector : projectors) {
    if (!has_bricks(projector)) continue;
    SCOPED_TRACE(projector_name(projector));
    const auto whole = found(&small, projector);
    const auto shapes = projector == Projector::joseph ? adjoint_bricks() : adjoint_bricks().first(1);
    for (const AdjointBrick& brick : shapes) EXPECT_TRUE(found(&brick, projector) == whole) << brick.text();
    for (const int slabs : {2, 3, static_cast<int>(scene.grid.size[2])}) {
      if (slabs > static_cast<int>(scene.grid.size[2])) continue;
      for (const int batch : {1, 5})
        for (const AdjointBrick& brick : {small, adjoint_bricks()[0]})
          EXPECT_TRUE(found(&brick, projector, split(slabs, batch)) == whole)
              << slabs << " slabs, batches of " << batch << ", " << brick.text();
    }
  }
}

TEST_P(AdjointBricks, HaveTheSameBitsOnPartsOfADevice) {
  for (const Projector projector : projectors)
    EXPECT_TRUE(found(&small, projector, {}, reference::sub_devices(2)) ==
                found(&small, projector, {}, reference::undivided()));
}

TEST_P(AdjointBricks, HoldWhatWasPlanned) {
  for (const int slabs : {1, 3}) {
    const auto result = run_program(program_of(method(&small, Projector::distance_driven)), {{"raw", &stack}},
                                    scene.grid, device(), split(slabs, 4));
    std::size_t most = 0;
    for (const auto& slab : result.plan.slabs) most = std::max(most, slab.bytes);
    EXPECT_EQ(result.peak_bytes, most);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AdjointBricks, testing::ValuesIn(reference::upright_scenes()),
                         [](const auto& info) { return info.param.name; });

TEST(AdjointBricks, AreForUprightScans) {
  for (const char* name : {"cone_tilted", "cone_axis_along_j", "cone_turned_grid", "parallel_tilted"}) {
    const auto scene = reference::scene_named(name);
    const auto kernel =
        RayBackprojection(scene.geometry, scene.projections, scene.grid, Projector::joseph, true, &small)
            .requirements()
            .kernels.back();
    EXPECT_NE(kernel, "joseph_bricks_backproject") << name;
  }
  // rays in faces between voxels
  const Geometry geometry = circular_geometry({.sid = 40, .sdd = 60, .angles = {0, 90, 200}});
  EXPECT_THAT(RayBackprojection(geometry, reference::detector(11, 7, 3, 1, 1), default_grid({8, 6, 4}, {1, 1, 1}),
                                Projector::siddon, true, &small)
                  .requirements()
                  .kernels,
              testing::Not(testing::Contains("bricks_table")));
}

TEST(AdjointBricks, HoldTheNumbersOfLargeDetectors) {
  const auto scene = reference::scene_named("cone");
  const RayTable table = make_rays(scene.geometry, scene.grid, scene.projections);
  const auto taken = [&](std::size_t columns, std::size_t rows) {
    return bricks_take(table, small, Projector::joseph, columns, rows);
  };
  EXPECT_TRUE(taken(16384, 16384));
  EXPECT_FALSE(taken(16384, 16385));
  EXPECT_TRUE(taken(131000, 1));
  EXPECT_FALSE(taken(std::size_t{1} << 17, 1));
}

TEST(AdjointBricks, FitTheirGroupsAndThinSlabs) {
  for (const AdjointBrick& brick : adjoint_bricks()) {
    EXPECT_LE(brick.local_bytes(), std::size_t{32} << 10) << brick.text();
    EXPECT_EQ(brick.for_slices(1).layers, 1);
    EXPECT_EQ(brick.for_slices(10000), brick);
    EXPECT_GE(brick.for_slices(static_cast<std::size_t>(brick.slices())).slices(), brick.slices());
    DeviceInfo info;
    info.max_work_group = static_cast<std::size_t>(brick.items);
    info.local_memory = std::size_t{48} << 10;
    EXPECT_TRUE(takes_brick(info, brick));
    info.max_work_group -= 1;
    EXPECT_FALSE(takes_brick(info, brick));
  }
}

// A device that has both gives the form the same result, whatever the list of checked variants says of CPUs.
TEST(AdjointBricks, AreCheckedOnGpus) {
  for (const AdjointBrick& brick : adjoint_bricks()) {
    const Variant variant = *brick_variant(brick, Projector::joseph);
    EXPECT_EQ(variant.check(device().front()).text(), "right");
    EXPECT_TRUE(std::any_of(all_variants().begin(), all_variants().end(),
                            [&](const Variant& each) { return each.name == variant.name; }));
  }
  for (const auto projector : {Projector::siddon, Projector::distance_driven})
    EXPECT_EQ(brick_variant(adjoint_bricks()[0], projector)->check(device().front()).text(), "right");
  EXPECT_FALSE(brick_variant(small, Projector::joseph));
}

}  // namespace
}  // namespace halocline::adjoint_bricks_test
