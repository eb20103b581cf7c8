// labels: device slab dealt
// Projection of upright scans with a column's rays side by side (cl/upright.clh), which GPUs take: Joseph's bit for bit
// what the portable form computes, the others to rounding, whatever the split.
#include "algorithms/projectors/upright.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/projectors/scan_forms.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::upright_test {
namespace {

using reference::device;
using reference::split;

class UprightProjection : public testing::TestWithParam<reference::Scene> {
 protected:
  const reference::Scene& scene = GetParam();
  Volume volume = reference::random_volume(scene.grid, 7);

  RayProjection method(bool upright, Projector projector = Projector::joseph) const {
    return {scene.geometry, scene.grid, scene.projections, {.projector = projector, .gpu = true, .upright = upright}};
  }
  std::vector<float> found(bool upright, const RunOptions& options = {}, const std::vector<Device>& devices = device(),
                           Projector projector = Projector::joseph) const {
    return run_program(program_of(method(upright, projector)), {{"volume", &volume}}, scene.projections, devices,
                       options)
        .output.voxels;
  }
};

TEST_P(UprightProjection, HasTheBitsOfThePortableForm) {
  EXPECT_EQ(method(true).requirements().kernels.back(), "joseph_upright_project");
  const auto portable = found(false);
  ASSERT_GT(*std::max_element(portable.begin(), portable.end()), 0);
  EXPECT_TRUE(found(true) == portable);
  for (const int slabs : {2, 3, static_cast<int>(scene.grid.size[2])}) {
    if (slabs > static_cast<int>(scene.grid.size[2])) continue;
    for (const int batch : {1, 5})
      EXPECT_TRUE(found(true, split(slabs, batch)) == portable) << slabs << " slabs, batches of " << batch;
  }
}

TEST_P(UprightProjection, OfShadowsMatchesDoublePrecisionWhateverTheSplit) {
  const Projector projector = Projector::distance_driven;
  if (method(true, projector).requirements().kernels.back() != "distance_driven_upright_project")
    GTEST_SKIP() << "pixels of more than three voxels";
  const auto expected = reference::project(projector, volume, scene.geometry, scene.projections);
  const double largest = reference::largest(expected);
  ASSERT_GT(largest, 0);
  const auto whole = found(true, {}, device(), projector), portable = found(false, {}, device(), projector);
  for (std::size_t pixel = 0; pixel < expected.size(); ++pixel) {
    ASSERT_NEAR(whole[pixel], expected[pixel], 1e-5 * largest) << "pixel " << pixel;
    ASSERT_NEAR(whole[pixel], portable[pixel], 5e-6 * largest) << "pixel " << pixel;
  }
  for (const int slabs : {2, 3, static_cast<int>(scene.grid.size[2])}) {
    if (slabs > static_cast<int>(scene.grid.size[2])) continue;
    for (const int batch : {1, 5})
      EXPECT_TRUE(found(true, split(slabs, batch), device(), projector) == whole)
          << slabs << " slabs, batches of " << batch;
  }
}

TEST_P(UprightProjection, HoldsWhatWasPlanned) {
  const auto result = run_program(program_of(method(true)), {{"volume", &volume}}, scene.projections, device(),
                                  split(std::min<int>(2, static_cast<int>(scene.grid.size[2])), 4));
  std::size_t most = 0;
  for (const auto& slab : result.plan.slabs) most = std::max(most, slab.bytes);
  EXPECT_EQ(result.peak_bytes, most);
}

INSTANTIATE_TEST_SUITE_P(All, UprightProjection, testing::ValuesIn(reference::upright_scenes()),
                         [](const auto& info) { return info.param.name; });

TEST_P(UprightProjection, HasTheSameBitsOnPartsOfADevice) {
  EXPECT_TRUE(found(true, {}, reference::sub_devices(2)) == found(true, {}, reference::undivided()));
}

TEST(UprightProjection, IsForUprightScans) {
  for (const char* name : {"cone_tilted", "cone_axis_along_j", "cone_turned_grid", "fan_stack", "parallel_tilted"}) {
    const auto scene = reference::scene_named(name);
    const RayProjection method(scene.geometry, scene.grid, scene.projections, {.gpu = true, .upright = true});
    EXPECT_EQ(method.requirements().kernels.front(), "joseph_project") << name;
  }
  const auto scene = reference::scene_named("cone");
  const RayProjection method(scene.geometry, scene.grid, scene.projections,
                             {.projector = Projector::siddon, .gpu = true, .upright = true});
  EXPECT_EQ(method.requirements().kernels.front(), "siddon_project");
}

TEST(UprightProjection, TakesNeighbouringViewsTogether) {
  const auto scene = reference::scene_named("cone");
  const auto views_of_group = [&](int views) {
    CircularOptions circle;
    circle.projections = views;
    Grid stack = scene.projections;
    stack.size[2] = static_cast<std::size_t>(views);
    return upright_form(make_rays(circular_geometry(circle), scene.grid, stack), scene.grid, Projector::joseph)->views;
  };
  EXPECT_EQ(views_of_group(360), 4);
  EXPECT_EQ(views_of_group(20), 1);
  EXPECT_EQ(views_of_group(1), 1);
}

TEST(UprightProjection, IsCheckedOnGpus) {
  for (const char* mode : {"joseph-upright", "distance-driven-upright"})
    EXPECT_EQ(variant_of(mode).check(device().front()).text(), "right");
}

}  // namespace
}  // namespace halocline::upright_test
