// labels: device slab dealt
// Voxel-driven back-projection against double precision, and one slab against many.
#include "algorithms/projectors/backprojection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/geometry/turned_views.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::backprojection_test {
namespace {

using reference::device;

std::vector<float> backprojected(const Volume& projections, const reference::Scene& scene, bool hardware, int slabs = 0,
                                 int batch = 0, const std::vector<Device>& devices = device()) {
  RunOptions options;
  options.plan.minimum_slabs = slabs;
  options.plan.batch = batch;
  return backproject(projections, scene.geometry, scene.grid, {.hardware_interpolation = hardware}, devices, options)
      .output.voxels;
}

class BackprojectionScenes : public testing::TestWithParam<reference::Scene> {
 protected:
  Volume projections = reference::random_volume(GetParam().projections, 3);
};

TEST_P(BackprojectionScenes, MatchesDoublePrecision) {
  const auto& scene = GetParam();
  const std::vector<double> values(projections.voxels.begin(), projections.voxels.end());
  const auto expected = reference::backproject(values, projections.grid, scene.geometry, scene.grid, {});
  ASSERT_GT(reference::largest(expected), 0);
  EXPECT_LT(reference::largest_difference(backprojected(projections, scene, false), expected),
            2e-5 * reference::largest(expected));
  if (!device().front().info().images) return;
  // each of the two fractions is off by up to 1/512, each of the views differs by up to 1 from pixel to pixel
  const double bound = static_cast<double>(scene.geometry.views.size()) * 2 / 512;
  EXPECT_LT(reference::largest_difference(backprojected(projections, scene, true), expected), bound);
}

TEST_P(BackprojectionScenes, SlabsBatchesAndDevicesChangeNoBit) {
  const auto& scene = GetParam();
  const bool images = device().front().info().images;
  for (const bool hardware : {false, true}) {
    if (hardware && !images) GTEST_SKIP() << device().front().info().name << " has no images";
    const auto whole = backprojected(projections, scene, hardware);
    for (const int slabs : {1, 2, 3}) {
      if (slabs > static_cast<int>(scene.grid.size[2])) continue;
      for (const int batch : {1, 5, 16})
        EXPECT_TRUE(backprojected(projections, scene, hardware, slabs, batch) == whole)
            << slabs << " slabs, batches of " << batch << (hardware ? ", hardware interpolation" : "");
    }
    const auto& parts = reference::sub_devices(2);
    if (hardware && !parts.front().info().images)
      GTEST_SKIP() << parts.front().info().name << " has no images on sub-devices";
    EXPECT_TRUE(backprojected(projections, scene, hardware, 0, 0, parts) ==
                backprojected(projections, scene, hardware, 0, 0, reference::undivided()));
  }
}

TEST_P(BackprojectionScenes, TheShortWayForUntiltedViewsGivesTheSameBits) {
  // one more view, tilted and empty, makes the kernel take the general way and adds nothing
  auto scene = GetParam();
  if (scene.geometry.fan_stack()) GTEST_SKIP() << "stacks of fans are not tilted";
  const auto whole = backprojected(projections, scene, false);
  View view = scene.geometry.views.back();
  view.out_of_plane_angle += 5;
  scene.geometry.views.push_back(view);
  scene.projections.size[2] += 1;
  Volume longer(scene.projections);
  std::copy(projections.voxels.begin(), projections.voxels.end(), longer.voxels.begin());
  EXPECT_TRUE(backprojected(longer, scene, false) == whole);
}

TEST_P(BackprojectionScenes, TheFormsForCpusGiveTheBitsOfThatForGpus) {
  const auto& scene = GetParam();
  for (const bool variance : {false, true})
    for (const bool distance : {false, true}) {
      VoxelDriven::Options options;
      options.variance = variance, options.correlation = 0.3;
      options.distance_weight = distance;
      const auto run = [&](bool cpu, int slabs) {
        options.cpu = cpu;
        RunOptions split;
        split.plan.minimum_slabs = std::min(slabs, static_cast<int>(scene.grid.size[2]));
        split.plan.batch = 4;
        return run_program(program_of(Backprojection(scene.geometry, scene.projections, scene.grid, options)),
                           {{"raw", &projections}}, scene.grid, reference::device(), split)
            .output.voxels;
      };
      const auto whole = run(true, 1);
      EXPECT_TRUE(whole == run(false, 1)) << "variance " << variance << ", distance " << distance;
      EXPECT_TRUE(whole == run(true, 3)) << "in slabs: variance " << variance << ", distance " << distance;
    }
}

TEST_P(BackprojectionScenes, TheFormThroughLocalMemoryGivesTheBitsOfThatWithout) {
  const auto& scene = GetParam();
  VoxelDriven::Options options;
  const auto run = [&](std::optional<LocalTile> tile, int slabs, int batch) {
    options.tile = tile;
    RunOptions split;
    split.plan.minimum_slabs = std::min(slabs, static_cast<int>(scene.grid.size[2]));
    split.plan.batch = batch;
    return run_program(program_of(Backprojection(scene.geometry, scene.projections, scene.grid, options)),
                       {{"raw", &projections}}, scene.grid, reference::device(), split)
        .output.voxels;
  };
  const auto compare = [&](const LocalTile& tile) {
    const auto whole = run({}, 1, 0);
    EXPECT_TRUE(run(tile, 1, 0) == whole) << tile.text();
    EXPECT_TRUE(run(tile, 3, 5) == whole) << tile.text() << ", in slabs";
  };
  // a group that looks ahead at one view, one that has no room for patches, one with room for some of them
  for (const LocalTile tile : {LocalTile{8, 1, 3, 4096}, LocalTile{4, 4, 5, 64}, LocalTile{16, 4, 2, 600}}) {
    compare(tile);
    options.distance_weight = true;
  }
  options.variance = true, options.correlation = 0.3;
  compare({32, 8, 3, 40 << 10});
}

TEST_P(BackprojectionScenes, TheFormFromImagesGivesTheBitsOfThatFromBuffers) {
  if (!device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
  const auto& scene = GetParam();
  VoxelDriven::Options options;
  const auto run = [&](std::size_t image_side, int slabs, int batch) {
    options.image_side = image_side;
    const Backprojection method(scene.geometry, scene.projections, scene.grid, options);
    EXPECT_EQ(method.requirements().kernels.back(), image_side > 0 ? "backproject_image" : "backproject_exact");
    RunOptions split;
    split.plan.minimum_slabs = std::min(slabs, static_cast<int>(scene.grid.size[2]));
    split.plan.batch = batch;
    return run_program(program_of(method), {{"raw", &projections}}, scene.grid, device(), split).output.voxels;
  };
  const std::size_t side = std::max(scene.projections.size[0], scene.projections.size[1]);
  for (const bool variance : {false, true})
    for (const bool distance : {false, true}) {
      SCOPED_TRACE(testing::Message() << "variance " << variance << ", distance " << distance);
      options.variance = variance, options.correlation = 0.3;
      options.distance_weight = distance;
      const auto whole = run(0, 1, 0);
      EXPECT_TRUE(run(side, 1, 0) == whole);
      EXPECT_TRUE(run(side, 3, 5) == whole) << "in slabs";
    }
  options.image_side = side - 1;  // a pixel too few
  EXPECT_EQ(Backprojection(scene.geometry, scene.projections, scene.grid, options).requirements().kernels.back(),
            "backproject_exact");
}

TEST(Backprojection, ImagesAreTakenWhereTheyWereFoundFastestAndAreLargeEnough) {
  const auto kernel_of = [](const std::vector<DeviceModel>& devices) {
    const auto scene = reference::scenes().front();
    VoxelDriven::Options options;
    set_device_options(options, devices, scene.projections, scene.grid);
    return Backprojection(scene.geometry, scene.projections, scene.grid, options).requirements().kernels.back();
  };
  DeviceModel tuned, small, plain;
  tuned.choices[exact_form_choice] = images_form;
  tuned.image_side = 16384;
  small = tuned;
  small.image_side = 8;
  EXPECT_EQ(kernel_of({tuned, tuned}), "backproject_image");
  EXPECT_EQ(kernel_of({tuned, small}), "backproject_exact");
  EXPECT_EQ(kernel_of({tuned, plain}), "backproject_exact");
}

// Tuned caches may name forms that do not exist.
TEST(Backprojection, ChoicesOfFormsThatAreNotThereAreIgnored) {
  DeviceModel tuned;
  tuned.texel_pairs = true;
  tuned.choices["hardware back-projection"] = "mirrored rows";
  tuned.choices[exact_form_choice] = "mirrored rows";
  const auto scene = reference::scenes().front();
  for (const auto& [hardware, kernel] : {std::pair{true, "backproject_image"}, {false, "backproject_exact"}}) {
    VoxelDriven::Options options;
    options.hardware_interpolation = hardware;
    set_device_options(options, std::vector{tuned}, scene.projections, scene.grid);
    const Backprojection method(scene.geometry, scene.projections, scene.grid, options);
    EXPECT_EQ(method.requirements().kernels.back(), kernel);
  }
}

TEST(Backprojection, ImagesTooSmallForTheDetectorAreRefusedBeforeTheyAreMade) {
  if (!device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
  reference::Scene scene = reference::scenes().front();
  scene.projections.size = {device().front().info().image_width + 1, 2, scene.projections.size[2]};
  scene.projections.origin[0] = -0.5 * scene.projections.spacing[0] * static_cast<double>(scene.projections.size[0]);
  try {
    backprojected(Volume(scene.projections), scene, true);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("pixels; use exact interpolation"));
  }
}

TEST(LocalTile, IsTakenWhereItWasFoundFastestOnEveryDevice) {
  const LocalTile& tile = local_tiles()[1];
  DeviceModel tuned, plain, cpu;
  tuned.choices[exact_form_choice] = tile.text();
  plain.choices[exact_form_choice] = quads_form;
  cpu = tuned;
  cpu.cpu = true;
  const auto taken = [](const std::vector<DeviceModel>& devices) { return fastest_tile(devices); };
  ASSERT_NE(taken({tuned, tuned}), nullptr);
  EXPECT_EQ(*taken({tuned, tuned}), tile);
  EXPECT_EQ(taken({tuned, plain}), nullptr);
  EXPECT_EQ(taken({tuned, DeviceModel{}}), nullptr);
  EXPECT_EQ(taken({cpu}), nullptr);
  EXPECT_EQ(taken({}), nullptr);
  DeviceModel measured;
  measured.name = "NVIDIA H200";
  measured.platform = "NVIDIA CUDA";
  ASSERT_NE(taken({measured}), nullptr);
  EXPECT_EQ(*taken({measured}), local_tiles().front());
  measured.choices[exact_form_choice] = quads_form;
  EXPECT_EQ(taken({measured}), nullptr);
  VoxelDriven::Options options;
  const auto first = reference::scenes().front();
  set_device_options(options, std::vector{tuned}, first.projections, first.grid);
  EXPECT_EQ(options.tile, tile);
  for (const auto& scene : reference::scenes()) {
    const auto kernels = Backprojection(scene.geometry, scene.projections, scene.grid, options).requirements().kernels;
    const bool wanted = scene.name == "cone" || scene.name == "cone_one_slice" || scene.name == "cone_one_voxel" ||
                        scene.name == "parallel" || scene.name.starts_with("fan_stack");  // the axis is along k
    EXPECT_EQ(kernels.back(), wanted ? "backproject_tile" : "backproject_exact") << scene.name;
  }
}

TEST(Backprojection, CpusTakeColumnsWhereTheAxisLiesAlongJOrK) {
  VoxelDriven::Options options;
  options.cpu = true;
  int columns = 0;
  for (const auto& scene : reference::scenes()) {
    const auto kernels = Backprojection(scene.geometry, scene.projections, scene.grid, options).requirements().kernels;
    const bool taken = std::find(kernels.begin(), kernels.end(), "backproject_columns") != kernels.end();
    const bool wanted = scene.name == "cone" || scene.name == "cone_axis_along_j" || scene.name == "cone_one_slice" ||
                        scene.name == "cone_one_voxel" || scene.name == "parallel" ||
                        scene.name.starts_with("fan_stack");
    EXPECT_EQ(taken, wanted) << scene.name;
    EXPECT_EQ(kernels.back(), wanted ? "backproject_columns" : "backproject_lanes") << scene.name;
    columns += taken ? 1 : 0;
  }
  EXPECT_EQ(columns, 7);
}

INSTANTIATE_TEST_SUITE_P(All, BackprojectionScenes, testing::ValuesIn(reference::scenes()),
                         [](const auto& info) { return info.param.name; });

// 12 views a turn in no order, seen by a displaced, turned detector, of a volume that is as long as it is wide.
reference::Scene turning_scene() {
  CircularOptions options;
  options.sid = 400;
  options.sdd = 600;
  options.projections = 12;
  options.in_plane_angle = 3;
  options.projection_offset_x = 7;
  reference::Scene scene;
  scene.geometry = circular_geometry(options);
  std::swap(scene.geometry.views[1], scene.geometry.views[8]);
  std::swap(scene.geometry.views[2], scene.geometry.views[5]);
  scene.projections = reference::detector(40, 30, 12, 1.5, 1.3);
  scene.grid = default_grid({24, 24, 9}, {1, 1, 1.7});
  return scene;
}

TEST(TurnedViews, ComeInPacks) {
  const auto order = [](const reference::Scene& scene, int views) {
    std::vector<Matrix34> matrices;
    for (const View& view : scene.geometry.views)
      matrices.push_back(index_to_detector(view, scene.grid, scene.projections));
    return turned_views(matrices, scene.grid.size, views);
  };
  reference::Scene scene = turning_scene();
  for (const int views : {2, 4}) {
    const auto packs = order(scene, views);
    ASSERT_EQ(packs.size(), 12u);
    for (std::size_t n = 1; n < packs.size(); ++n) {
      if (n % static_cast<std::size_t>(views) == 0) continue;
      const auto angle = [&](std::size_t k) {
        return scene.geometry.views[static_cast<std::size_t>(packs[k])].gantry_angle;
      };
      EXPECT_NEAR(std::fmod(angle(n) - angle(n - 1) + 720, 360), 360.0 / views, 1e-9);
    }
    auto sorted = packs;
    std::sort(sorted.begin(), sorted.end());
    for (int n = 0; n < 12; ++n) EXPECT_EQ(sorted[static_cast<std::size_t>(n)], n);
  }
  const auto without = [&](auto&& change) {
    reference::Scene other = scene;
    change(other);
    return order(other, 4).empty();
  };
  EXPECT_TRUE(without([](auto& s) { s.grid.size[0] = 23; }));
  EXPECT_TRUE(without([](auto& s) { s.grid.size[1] = 26; }));
  EXPECT_TRUE(without([](auto& s) { s.grid.origin[0] += 1e-6; }));
  EXPECT_TRUE(without([](auto& s) { s.grid.spacing[1] = 1.1; }));
  EXPECT_TRUE(without([](auto& s) { s.geometry.views[3].gantry_angle += 1e-6; }));
  EXPECT_TRUE(without([](auto& s) { s.geometry.views[3].projection_offset_x += 1e-6; }));
  EXPECT_TRUE(without([](auto& s) { s.geometry.views.resize(9); }));
}

TEST(TurnedViews, ShareTexels) {
  if (!device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
  const reference::Scene scene = turning_scene();
  const Volume projections = reference::random_volume(scene.projections, 3);
  const std::vector<double> values(projections.voxels.begin(), projections.voxels.end());
  const auto expected = reference::backproject(values, projections.grid, scene.geometry, scene.grid, {});
  const auto found = [&](int slabs, int batch) {
    RunOptions options;
    options.plan.minimum_slabs = slabs;
    options.plan.batch = batch;
    const BackprojectionParameters half{.hardware_interpolation = true, .half_texels = true};
    return backproject(projections, scene.geometry, scene.grid, half, device(), options).output.voxels;
  };
  const auto whole = found(0, 0);
  // two fractions off by up to 1/512, of values up to 1 that are rounded to 11 bits
  EXPECT_LT(reference::largest_difference(whole, expected), 12 * (2.0 / 512 + 1.0 / 2048));
  for (const int slabs : {1, 2, 3})
    for (const int batch : {1, 4, 8}) EXPECT_TRUE(found(slabs, batch) == whole) << slabs << " " << batch;
}

TEST(TurnedViews, ShareTexelsOfProjection) {
  if (!device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
  const reference::Scene scene = turning_scene();
  const Volume volume = reference::random_volume(scene.grid, 4);
  const auto expected = reference::project(Projector::joseph, volume, scene.geometry, scene.projections);
  const auto lengths = reference::project(Projector::joseph, Volume(scene.grid, 1), scene.geometry, scene.projections);
  const auto found = [&](int slabs, int batch) {
    RunOptions options;
    options.plan.minimum_slabs = slabs;
    options.plan.batch = batch;
    const ProjectionParameters half{.hardware_interpolation = true, .half_texels = true};
    const RunResult result = project(volume, scene.geometry, scene.projections, half, device(), options);
    for (const ArrayNeed& need : result.plan.requirements.arrays) {
      if (need.kind != ArrayKind::planes) continue;
      EXPECT_EQ(std::pair(need.components, need.element_bytes), std::pair(4UL, 2UL));
    }
    return result.output.voxels;
  };
  const auto whole = found(0, 0);
  // as in backprojection, and the path through voxels of 1
  EXPECT_LT(reference::largest_difference(whole, expected), (2.0 / 512 + 1.0 / 2048) * reference::largest(lengths));
  for (const int slabs : {1, 2, 3})
    for (const int batch : {1, 4, 8}) EXPECT_TRUE(found(slabs, batch) == whole) << slabs << " " << batch;
}

// Numbers of any size, as other units give them.
TEST(TurnedViews, HalfTexelsFitTheirRangeToTheValues) {
  if (!device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
  const reference::Scene scene = turning_scene();
  const auto scaled = [](Volume volume, float factor) {
    for (float& value : volume.voxels) value *= factor;
    return volume;
  };
  const Volume volume = reference::random_volume(scene.grid, 4), stack = reference::random_volume(scene.projections, 3);
  const auto projected = [&](float factor) {
    const ProjectionParameters half{.hardware_interpolation = true, .half_texels = true};
    return scaled(project(scaled(volume, factor), scene.geometry, scene.projections, half, device()).output, 1 / factor)
        .voxels;
  };
  const auto reconstructed = [&](float factor, bool half) {
    const FdkParameters parameters{.hardware_interpolation = true, .half_texels = half};
    return scaled(fdk(scaled(stack, factor), scene.geometry, scene.grid, parameters, device()).output, 1 / factor)
        .voxels;
  };
  const auto backprojected = [&](float factor) {
    const BackprojectionParameters half{.hardware_interpolation = true, .half_texels = true};
    return scaled(backproject(scaled(stack, factor), scene.geometry, scene.grid, half, device()).output, 1 / factor)
        .voxels;
  };
  const std::vector<float> first = backprojected(1);
  const std::vector<double> sums(first.begin(), first.end());
  for (const float factor : {0x1p-30f, 3e-5f, 7e4f, 0x1p30f})
    EXPECT_LT(reference::largest_difference(backprojected(factor), sums), 1e-3 * reference::largest(sums)) << factor;
  const std::vector<float> whole = projected(1), filtered = reconstructed(1, false);
  const std::vector<double> expected(whole.begin(), whole.end()), image(filtered.begin(), filtered.end());
  for (const float factor : {0x1p-40f, 0x1p-20f, 0x1p-4f, 0x1p20f, 0x1p40f, 3e-5f, 7e4f})
    EXPECT_LT(reference::largest_difference(projected(factor), expected), 1e-3 * reference::largest(expected))
        << factor;
  for (const float factor : {0x1p-40f, 1e-5f, 1e-3f, 1.0f, 1e3f, 1e6f, 0x1p40f})
    EXPECT_LT(reference::largest_difference(reconstructed(factor, true), image), 1e-3 * reference::largest(image))
        << factor;
}

// Lengths in other units than mm make all of FDK's values larger or smaller.
TEST(TurnedViews, HalfTexelsTakeLengthsOfAnyUnit) {
  if (!device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
  for (const double unit : {1e-6, 1.0, 1e3, 1e6}) {
    const Geometry geometry = circular_geometry({.sid = 100 * unit, .sdd = 150 * unit, .projections = 16});
    const Grid grid = default_grid({12, 12, 5}, {2 * unit, 2 * unit, 2 * unit});
    const Volume stack = reference::random_volume(reference::detector(19, 9, 16, 3 * unit, 3 * unit), 4);
    const auto found = [&](bool half, bool variance) {
      FdkParameters parameters{.hardware_interpolation = true, .half_texels = half};
      if (variance) parameters.variance = FdkParameters::Noise{1e5, 0};
      return fdk(stack, geometry, grid, parameters, device()).output.voxels;
    };
    const std::vector<float> plain = found(false, false);
    const std::vector<double> expected(plain.begin(), plain.end());
    EXPECT_LT(reference::largest_difference(found(true, false), expected), 1e-3 * reference::largest(expected)) << unit;
    EXPECT_TRUE(found(true, true) == found(false, true)) << "variances are in float32: " << unit;
  }
}

// Half precision is for texels that are shared: alone it would lose digits, and on PoCL everything.
TEST(TurnedViews, AloneStayFloat) {
  if (!device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
  reference::Scene scene = turning_scene();
  scene.geometry.views.resize(9);
  scene.projections.size[2] = 9;
  const Volume projections = reference::random_volume(scene.projections, 3);
  const auto found = [&](bool half) {
    return backproject(projections, scene.geometry, scene.grid, {.hardware_interpolation = true, .half_texels = half},
                       device())
        .output.voxels;
  };
  EXPECT_TRUE(found(true) == found(false));
  const Volume volume = reference::random_volume(scene.grid, 4);
  const auto projected = [&](bool half) {
    return project(volume, scene.geometry, scene.projections, {.hardware_interpolation = true, .half_texels = half},
                   device())
        .output.voxels;
  };
  EXPECT_TRUE(projected(true) == projected(false));
}

TEST(DetectorRows, CoverWhatEachSliceNeedsAndNoMore) {
  CircularOptions options;
  options.sid = 500;
  options.sdd = 1000;
  options.projections = 12;
  const Geometry geometry = circular_geometry(options);
  const Grid projections = reference::detector(100, 257, 12, 1, 1), grid = default_grid({32, 32, 120}, {1, 1, 1});
  const auto rows_of = detector_rows_of(geometry, projections, grid);
  for (std::int64_t k = 0; k < 120; ++k) {
    const Range rows = rows_of({k, k + 1});
    // at the isocentre's depth a slice is seen 2 rows a mm from the middle; its corners are nearer by 21.17 mm at 30
    // degrees
    const double y = static_cast<double>(k) - 59.5, depth = 15.5 * (std::sqrt(0.75) + 0.5);
    const double near = 128 + 2 * y * 500 / (500 - depth), far = 128 + 2 * y * 500 / (500 + depth);
    EXPECT_LE(static_cast<double>(rows.begin), std::max(0.0, std::min(near, far)));
    EXPECT_GE(static_cast<double>(rows.end), std::min(257.0, std::max(near, far) + 1));
    EXPECT_EQ(rows.begin % 2, 0);
    EXPECT_TRUE(rows.end % 2 == 0 || rows.end == 257);
    EXPECT_LE(rows.count(), 36);
    EXPECT_GE(rows.count(), 32);
  }
  EXPECT_EQ(rows_of({0, 120}), (Range{2, 254}));  // 128 +- 124.3
}

TEST(DetectorRows, AreAllIfTheGridReachesTheSource) {
  CircularOptions options;
  options.sid = 20;
  options.sdd = 60;
  options.projections = 12;
  const Grid projections = reference::detector(50, 200, 12, 1, 1);
  EXPECT_EQ(detector_rows_of(circular_geometry(options), projections, default_grid({32, 32, 9}, {1, 1, 1}))({0, 1}),
            (Range{0, 200}));
}

}  // namespace
}  // namespace halocline::backprojection_test
