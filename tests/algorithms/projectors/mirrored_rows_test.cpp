// labels: device slab
// Back-projection where rows above the mid-plane share texels with those below it: when that is so, against double
// precision, and one slab against many. PoCL 3.1 has no textures of two channels: a test of its own runs this program
// under Oclgrind, so scenes are small.
#include "algorithms/projectors/mirrored_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/tuning/scan_loop.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline {
namespace {

// The default device, n times over. Closed before the program ends: Oclgrind is gone by the time of static objects.
std::vector<Device> opened;
std::vector<Device> devices(std::size_t count = 1) {
  while (opened.size() < count) opened.push_back(open_devices({}).front());
  return {opened.begin(), opened.begin() + static_cast<std::ptrdiff_t>(count)};
}
class Closing : public testing::Environment {
  void TearDown() override { opened.clear(); }
};
[[maybe_unused]] const auto* const closing = testing::AddGlobalTestEnvironment(new Closing);

void require_pairs() {
  const DeviceInfo info = devices().front().info();
  if (!info.texel_pairs) GTEST_SKIP() << info.name << " has no textures of two channels";
}

constexpr double pitch = 1.3;  // of the detector's rows

// Views at no regular angles of a volume beside the axis, whose ends the detector does not see; the mid-plane falls
// `higher` rows above the detector's middle.
reference::Scene scene_of(std::size_t rows, std::size_t slices, double higher = 0) {
  CircularOptions options;
  options.sid = 400;
  options.sdd = 600;
  options.angles = {3, 81, 118, 203};
  options.projection_offset_x = 4;
  options.projection_offset_y = -higher * pitch;
  reference::Scene scene;
  scene.geometry = circular_geometry(options);
  scene.projections = reference::detector(19, rows, options.angles.size(), 1.5, pitch);
  scene.grid = default_grid({11, 8, slices}, {1.1, 1.3, 36.0 / static_cast<double>(slices)});
  scene.grid.origin[0] += 3;
  scene.grid.origin[2] -= 2;
  return scene;
}

// k along -y.
Grid turned_over(Grid grid) {
  grid.direction[5] *= -1;
  grid.origin[1] *= -1;
  return grid;
}

std::optional<MirroredRows> found(const reference::Scene& scene) {
  std::vector<Matrix34> matrices;
  for (const View& view : scene.geometry.views)
    matrices.push_back(index_to_detector(view, scene.grid, scene.projections));
  return mirrored_rows(matrices, scene.grid.size, scene.projections.size[1]);
}

// -1: none.
int sum_of(const reference::Scene& scene) {
  const auto rows = found(scene);
  return rows ? rows->sum : -1;
}

TEST(MirroredRows, LieAboutTheMidPlane) {
  for (const std::size_t slices : {9, 10}) {
    EXPECT_EQ(sum_of(scene_of(30, slices)), 29);
    EXPECT_EQ(sum_of(scene_of(31, slices)), 30);
    EXPECT_EQ(sum_of(scene_of(30, slices, 0.5)), 30);
    EXPECT_EQ(sum_of(scene_of(30, slices, -1)), 27);
    EXPECT_EQ(sum_of(scene_of(30, slices, 14.5)), 58);
    EXPECT_EQ(sum_of(scene_of(30, slices, -14.5)), 0);
  }
  reference::Scene scene = scene_of(30, 9);
  EXPECT_TRUE(found(scene)->upwards);
  reference::Scene downwards = scene, upside_down = scene;
  downwards.grid = turned_over(scene.grid);
  upside_down.projections.direction[4] *= -1;
  upside_down.projections.origin[1] *= -1;
  for (const auto& other : {downwards, upside_down}) {
    ASSERT_EQ(sum_of(other), 29);
    EXPECT_FALSE(found(other)->upwards);
  }
  // the plane of a source that is higher, with detector and volume
  for (View& view : scene.geometry.views) view.source_offset_y = view.projection_offset_y = 5;
  EXPECT_EQ(sum_of(scene), -1);
  scene.grid.origin[1] += 5;
  EXPECT_EQ(sum_of(scene), 29);
  // in a parallel beam every plane across the axis will do
  reference::Scene parallel = scene_of(30, 9);
  for (View& view : parallel.geometry.views) view.sdd = 0;
  EXPECT_EQ(sum_of(parallel), 29);
  parallel.grid.origin[1] += 0.5 * pitch;
  EXPECT_EQ(sum_of(parallel), 30);
  parallel.grid.origin[1] += 0.25 * pitch;
  EXPECT_EQ(sum_of(parallel), -1);
}

TEST(MirroredRows, AreNoneOtherwise) {
  const auto none = [](const std::function<void(reference::Scene&)>& change) {
    reference::Scene scene = scene_of(30, 9);
    change(scene);
    return sum_of(scene) == -1;
  };
  EXPECT_FALSE(none([](auto&) {}));
  EXPECT_TRUE(none([](auto& s) { s = scene_of(30, 9, 0.25); }));
  EXPECT_TRUE(none([](auto& s) { s = scene_of(30, 9, 1e-6); }));
  EXPECT_TRUE(none([](auto& s) { s = scene_of(30, 9, 15); }));
  EXPECT_TRUE(none([](auto& s) { s = scene_of(30, 9, -15); }));
  EXPECT_TRUE(none([](auto& s) { s.grid.origin[1] += 1e-6; }));
  EXPECT_TRUE(none([](auto& s) { s.grid.origin[1] += 0.5 * pitch * 400 / 600; }));
  EXPECT_TRUE(none([](auto& s) { s.grid.direction = {1, 0, 0, 0, 1, 0, 0, 0, 1}; }));
  EXPECT_TRUE(none([](auto& s) { s.geometry.views[3].in_plane_angle = 1e-6; }));
  EXPECT_TRUE(none([](auto& s) { s.geometry.views[3].out_of_plane_angle = 1e-6; }));
  EXPECT_TRUE(none([](auto& s) { s.geometry.views[3].source_offset_y = 1e-6; }));
  EXPECT_TRUE(none([](auto& s) { s.geometry.views[3].projection_offset_y = 0.5 * pitch; }));
  EXPECT_TRUE(none([](auto& s) { s.geometry.views[3].in_plane_angle = 180; })) << "a detector upside down";
  EXPECT_TRUE(none([](auto& s) { s.geometry.views.clear(); }));
}

VoxelDriven::Options mirrored() {
  return {.hardware_interpolation = true, .mirrored = true};
}

bool shares_texels(const Requirements& requirements) {
  return requirements.kernels.back() == "backproject_image_mirrored";
}

TEST(MirroredRows, ShareTexelsWhereNothingElseDoes) {
  const auto shared = [](const reference::Scene& scene, VoxelDriven::Options options) {
    return shares_texels(Backprojection(scene.geometry, scene.projections, scene.grid, options).requirements());
  };
  EXPECT_TRUE(shared(scene_of(30, 9), mirrored()));
  EXPECT_FALSE(shared(scene_of(30, 9), {.hardware_interpolation = true}));
  EXPECT_FALSE(shared(scene_of(30, 9), {.mirrored = true})) << "exact";
  EXPECT_FALSE(shared(scene_of(30, 9, 0.25), mirrored()));
  EXPECT_FALSE(shared(scene_of(1, 9), mirrored())) << "a fan beam";
  EXPECT_FALSE(shared(scene_of(30, 1), mirrored()));
  // half of the pixels in two channels
  const reference::Scene scene = scene_of(30, 9);
  const auto need = Backprojection(scene.geometry, scene.projections, scene.grid, mirrored()).requirements();
  for (const ArrayNeed& array : need.arrays)
    if (array.kind == ArrayKind::image) {
      EXPECT_EQ(array_bytes(array, need, 9, 1, 4), 19u * 16 * 4 * 8);
    }
  // views that do are the better choice
  VoxelDriven::Options both = mirrored();
  both.texel_pairs = true;
  const BenchScan bench = bench_scan(20, 16);
  EXPECT_TRUE(shares_texels(Backprojection(bench.geometry, bench.stack, bench.volume, mirrored()).requirements()));
  EXPECT_FALSE(shares_texels(Backprojection(bench.geometry, bench.stack, bench.volume, both).requirements()));
}

TEST(MirroredRows, ShareTexelsWhereThatWasFoundFastestOnEveryDevice) {
  DeviceModel tuned, single, untuned;
  tuned.texel_pairs = single.texel_pairs = untuned.texel_pairs = true;
  tuned.choices[texture_form_choice] = mirrored_form;
  single.choices[texture_form_choice] = single_form;
  DeviceModel without = tuned, h200 = untuned;
  without.texel_pairs = false;
  h200.name = "NVIDIA H200";
  h200.platform = "NVIDIA CUDA";
  const auto taken = [](const std::vector<DeviceModel>& devices) {
    VoxelDriven::Options options;
    set_device_options(options, devices);
    return options.mirrored;
  };
  EXPECT_TRUE(taken({tuned}));
  EXPECT_TRUE(taken({tuned, tuned}));
  EXPECT_FALSE(taken({tuned, single}));
  EXPECT_FALSE(taken({tuned, untuned}));
  EXPECT_FALSE(taken({without}));
  EXPECT_FALSE(taken({h200}));
  EXPECT_FALSE(taken({}));
}

struct Case {
  std::string name;
  reference::Scene scene;
};
void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

std::vector<Case> cases() {
  std::vector<Case> all{{"even", scene_of(30, 10)},
                        {"odd_slices", scene_of(30, 9)},
                        {"odd_rows", scene_of(31, 10)},
                        {"odd", scene_of(31, 9)},
                        {"half_a_row_higher", scene_of(30, 9, 0.5)},
                        {"higher", scene_of(30, 10, 6)},
                        {"lower", scene_of(31, 9, -6.5)},
                        {"at_the_first_row", scene_of(7, 9, -3)},
                        {"at_the_last_row", scene_of(7, 10, 3)},
                        {"two_rows", scene_of(2, 20)},
                        {"two_slices", scene_of(30, 2)},
                        {"many_slices", scene_of(43, 53, 0.5)}};
  Case downwards{"downwards", scene_of(30, 9, 3)}, parallel{"parallel", scene_of(30, 10, 2.5)};
  downwards.scene.grid = turned_over(downwards.scene.grid);
  for (View& view : parallel.scene.geometry.views) view.sdd = 0;
  all.push_back(downwards);
  all.push_back(parallel);
  return all;
}

class MirroredRowsCases : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { require_pairs(); }

  RunResult run(VoxelDriven::Options options, int slabs = 0, int batch = 0,
                const std::vector<Device>& on = devices()) const {
    RunOptions split;
    split.plan.minimum_slabs = slabs;
    split.plan.batch = batch;
    const Backprojection method(scene.geometry, scene.projections, scene.grid, options);
    EXPECT_EQ(shares_texels(method.requirements()), options.mirrored);
    return run_backprojection(method, projections, scene.grid, on, split);
  }

  const reference::Scene& scene = GetParam().scene;
  Volume projections = reference::random_volume(scene.projections, 3);
};

TEST_P(MirroredRowsCases, MatchDoublePrecision) {
  const std::vector<double> values(projections.voxels.begin(), projections.voxels.end());
  // the weight of the voxel that comes nearest to the source, in any view
  double reach = 0;
  for (const double i : {0.0, static_cast<double>(scene.grid.size[0] - 1)})
    for (const double j : {0.0, static_cast<double>(scene.grid.size[1] - 1)}) {
      const auto corner = scene.grid.world(i, j, 0);
      reach = std::max(reach, std::hypot(corner[0], corner[2]));
    }
  const double sid = scene.geometry.views[0].sid, nearest = sid / (sid - reach) * sid / (sid - reach);
  for (const bool variance : {false, true})
    for (const bool distance : {false, true}) {
      if (distance && scene.geometry.parallel()) continue;
      VoxelDriven::Options options = mirrored();
      options.variance = variance, options.correlation = 0.3;
      options.distance_weight = distance;
      const reference::Weights weights{
          .scale = {}, .distance = distance, .variance = variance, .correlation = options.correlation};
      const auto expected = reference::backproject(values, scene.projections, scene.geometry, scene.grid, weights);
      ASSERT_GT(reference::largest(expected), 0);
      // each of the two fractions is off by up to 1/512, each of the views differs by up to 1 from pixel to pixel
      const double weight = distance ? nearest : 1;
      const double bound =
          static_cast<double>(scene.geometry.views.size()) * (variance ? weight * weight : weight) * 2 / 512;
      EXPECT_LT(reference::largest_difference(run(options).output.voxels, expected), bound)
          << "variance " << variance << ", distance " << distance;
    }
}

TEST_P(MirroredRowsCases, SlabsBatchesAndDevicesChangeNoBit) {
  VoxelDriven::Options options = mirrored();
  options.distance_weight = true;
  const auto whole = run(options).output.voxels;
  const int slices = static_cast<int>(scene.grid.size[2]);
  for (const int slabs : {1, 2, 3, 7}) {
    if (slabs > slices) continue;
    for (const int batch : {1, 3}) {
      const RunResult split = run(options, slabs, batch);
      EXPECT_TRUE(split.output.voxels == whole) << slabs << " slabs, batches of " << batch;
      std::size_t most = 0;
      for (const auto& slab : split.plan.slabs) most = std::max(most, slab.bytes);
      EXPECT_EQ(split.peak_bytes, most);
    }
  }
  options.half_texels = true;  // for views that share texels
  EXPECT_TRUE(run(options).output.voxels == whole);
  // Two devices of Oclgrind at once are wrong with every kernel.
  if (devices().front().info().platform.find("Oclgrind") == std::string::npos) {
    EXPECT_TRUE(run(options, 0, 0, devices(2)).output.voxels == whole) << "two devices";
  }
}

INSTANTIATE_TEST_SUITE_P(All, MirroredRowsCases, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// As a device that was tuned would have it, filtered.
TEST(MirroredRows, ShareTexelsInFdk) {
  require_pairs();
  if (IsSkipped()) return;
  reference::Scene scene = scene_of(31, 34, 0.5);
  CircularOptions circle;
  circle.sid = 400;
  circle.sdd = 600;
  circle.projections = 9;
  circle.projection_offset_y = -0.5 * pitch;
  scene.geometry = circular_geometry(circle);
  scene.projections.size[2] = 9;
  const Volume projections = reference::random_volume(scene.projections, 3);
  FdkParameters parameters;
  parameters.hardware_interpolation = true;
  auto tuned = device_models(devices());
  for (DeviceModel& model : tuned) model.choices[texture_form_choice] = mirrored_form;
  const auto run = [&](const std::vector<DeviceModel>& models, int slabs, int batch, bool shared) {
    RunOptions split;
    split.plan.minimum_slabs = slabs;
    split.plan.batch = batch;
    const Fdk method(scene.geometry, scene.projections, scene.grid, parameters, models);
    EXPECT_EQ(shares_texels(method.requirements()), shared);
    return run_backprojection(method, projections, scene.grid, devices(), split).output.voxels;
  };
  const auto whole = run(tuned, 1, 0, true);
  for (const auto& [slabs, batch] : {std::pair{1, 4}, {3, 9}, {7, 4}})
    EXPECT_TRUE(run(tuned, slabs, batch, true) == whole) << slabs << " slabs, batches of " << batch;
  parameters.hardware_interpolation = false;
  const auto exact = run(device_models(devices()), 1, 0, false);
  const std::vector<double> expected(exact.begin(), exact.end());
  EXPECT_LT(reference::largest_difference(whole, expected), 1e-2 * reference::largest(expected));
}

}  // namespace
}  // namespace halocline
