// labels: device slab dealt
// Joseph's adjoint in bricks (cl/joseph_bricks.cl), which GPUs take: against double precision, the portable form and
// the projector, whatever the split and the shape of groups.
#include "algorithms/projectors/joseph_bricks.hpp"

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

namespace halocline::joseph_bricks_test {
namespace {

using reference::device;

constexpr AdjointBrick small{4, 2, 4, 2};  // several groups along every axis of small volumes

Grid moved(Grid grid, std::array<double, 3> by) {
  for (int axis = 0; axis < 3; ++axis) grid.origin[axis] += by[axis];
  return grid;
}

// Upright scans: many views, some of whose rays follow both axes, and volumes of all sizes, off the axis.
std::vector<reference::Scene> scenes() {
  std::vector<reference::Scene> all;
  for (const char* name : {"cone", "cone_one_slice", "cone_one_voxel", "fan", "parallel"})
    all.push_back(reference::scene_named(name));
  CircularOptions options;
  options.sid = 200;
  options.sdd = 300;
  options.angles = {3, 38, 44, 47, 81, 131, 137, 166, 203, 222, 251, 318};
  const std::size_t views = options.angles.size();
  const auto add = [&](const char* name, const Grid& detector, const Grid& grid) {
    all.push_back({name, circular_geometry(options), detector, grid});
  };
  const Grid plain = reference::detector(41, 37, views, 1.4, 1.3), grid = default_grid({13, 9, 11}, {2, 3, 1.5});
  add("size_1", plain, default_grid({1, 1, 1}, {2, 2, 2}));
  add("size_7", plain, moved(default_grid({7, 7, 7}, {2, 1.5, 3}), {3, -2, 4}));
  add("size_33", reference::detector(61, 53, views, 1.5, 1.6),
      moved(default_grid({33, 33, 33}, {1, 1.2, 0.9}), {-5, 4, 3}));
  add("thin_93", reference::detector(93, 5, views, 0.9, 3), default_grid({93, 2, 93}, {0.6, 1, 4}));
  add("long_93", reference::detector(9, 151, views, 3, 1.1), moved(default_grid({3, 93, 5}, {2, 1, 2}), {1, 7, -1}));
  add("coarse_pixels", reference::detector(25, 19, views, 7, 6), grid);
  add("fine_pixels", reference::detector(129, 127, views, 0.25, 0.2), grid);
  add("one_row", reference::detector(41, 1, views, 1.4, 5), grid);
  add("cut_on_all_sides", reference::detector(29, 27, views, 1.5, 1.5), default_grid({21, 19, 15}, {4, 4, 4}));
  Grid backwards = plain;
  backwards.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  backwards.origin = {29, 24, 0};
  add("backwards", backwards, grid);
  options.projection_offset_x = 18;
  options.source_offset_y = 3;
  options.projection_offset_y = -4;
  add("displaced", plain, grid);
  options.sid = 40;
  options.sdd = 70;
  add("wide_fan", reference::detector(41, 25, views, 1.2, 0.8), default_grid({17, 19, 12}, {1.5, 1.3, 1.1}));
  options.angles.clear();
  for (int n = 0; n < 19; ++n) options.angles.push_back(11 + 11.3 * n);
  options.sdd = 0;
  add("parallel_arc", reference::detector(33, 23, 19, 1.25, 1.5), grid);
  return all;
}

RunOptions split(int slabs, int batch) {
  RunOptions options;
  options.plan.minimum_slabs = slabs;
  options.plan.batch = batch;
  return options;
}

class AdjointBricks : public testing::TestWithParam<reference::Scene> {
 protected:
  const reference::Scene& scene = GetParam();
  Volume volume = reference::random_volume(scene.grid, 7), stack = reference::random_volume(scene.projections, 3);

  RayBackprojection method(const AdjointBrick* brick) const {
    return {scene.geometry, scene.projections, scene.grid, Projector::joseph, true, brick};
  }
  Voxels found(const AdjointBrick* brick, const RunOptions& options = {},
               const std::vector<Device>& devices = device()) const {
    return run_program(program_of(method(brick)), {{"raw", &stack}}, scene.grid, devices, options).output.voxels;
  }
};

TEST_P(AdjointBricks, MatchDoublePrecisionAndThePortableForm) {
  const auto expected = reference::backproject(Projector::joseph, stack, scene.geometry, scene.grid);
  const double largest = reference::largest(expected);
  ASSERT_GT(largest, 0);
  const auto bricks = found(&small), portable = found(nullptr);
  EXPECT_NE(method(&small).requirements().kernels, method(nullptr).requirements().kernels);
  for (std::size_t voxel = 0; voxel < expected.size(); ++voxel) {
    ASSERT_NEAR(bricks[voxel], expected[voxel], 2e-5 * largest) << "voxel " << voxel;
    ASSERT_NEAR(bricks[voxel], portable[voxel], 1e-5 * largest) << "voxel " << voxel;
  }
}

TEST_P(AdjointBricks, AreTheAdjoint) {
  const auto ax = project(volume, scene.geometry, scene.projections, device()).output.voxels, aty = found(&small);
  const double forward = std::inner_product(ax.begin(), ax.end(), stack.voxels.begin(), 0.0);
  const double back = std::inner_product(aty.begin(), aty.end(), volume.voxels.begin(), 0.0);
  ASSERT_GT(forward, 0);
  EXPECT_NEAR(forward, back, 1e-6 * forward);
}

TEST_P(AdjointBricks, NoSplitAndNoShapeChangesABit) {
  const auto whole = found(&small);
  for (const AdjointBrick& brick : adjoint_bricks()) EXPECT_TRUE(found(&brick) == whole) << brick.text();
  for (const int slabs : {2, 3, static_cast<int>(scene.grid.size[2])}) {
    if (slabs > static_cast<int>(scene.grid.size[2])) continue;
    for (const int batch : {1, 5}) {
      EXPECT_TRUE(found(&small, split(slabs, batch)) == whole) << slabs << " slabs, batches of " << batch;
      EXPECT_TRUE(found(&adjoint_bricks()[0], split(slabs, batch)) == whole) << slabs << " slabs, batches of " << batch;
    }
  }
  EXPECT_TRUE(found(&small, {}, reference::sub_devices(2)) == found(&small, {}, reference::undivided()));
}

TEST_P(AdjointBricks, HoldWhatWasPlanned) {
  for (const int slabs : {1, 3}) {
    const auto result =
        run_program(program_of(method(&small)), {{"raw", &stack}}, scene.grid, device(), split(slabs, 4));
    std::size_t most = 0;
    for (const auto& slab : result.plan.slabs) most = std::max(most, slab.bytes);
    EXPECT_EQ(result.peak_bytes, most);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AdjointBricks, testing::ValuesIn(scenes()),
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
  const auto scene = reference::scene_named("cone");
  for (const auto projector : {Projector::siddon, Projector::distance_driven})
    EXPECT_THAT(RayBackprojection(scene.geometry, scene.projections, scene.grid, projector, true, &small)
                    .requirements()
                    .kernels,
                testing::Not(testing::Contains("joseph_bricks_backproject")));
}

TEST(AdjointBricks, HoldTheNumbersOfLargeDetectors) {
  EXPECT_TRUE(bricks_take(16384, 16384));
  EXPECT_FALSE(bricks_take(16384, 16385));
  EXPECT_TRUE(bricks_take(131000, 1));
  EXPECT_FALSE(bricks_take(std::size_t{1} << 17, 1));
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
    const Variant variant = brick_variant(brick);
    EXPECT_EQ(variant.check(device().front()).text(), "right");
    EXPECT_TRUE(std::any_of(all_variants().begin(), all_variants().end(),
                            [&](const Variant& each) { return each.name == variant.name; }));
  }
}

}  // namespace
}  // namespace halocline::joseph_bricks_test
