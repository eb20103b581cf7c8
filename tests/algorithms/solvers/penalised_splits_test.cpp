// labels: device slab dealt
// Solvers of penalised least squares give the same bits on any slabs, batches and devices, resumed or short of memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/reference/ray_matrix.hpp"
#include "tests/support/reconstruct_run.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::penalised_splits_test {
namespace {

// A scan with weights, some of them 0, a start and a volume that guides.
MeasuredScan measured(const reference::Scene& scene) {
  const Volume object = reference::random_volume(scene.grid, 11);
  MeasuredScan scan{
      .scene = scene,
      .b = reference::volume_of(scene.projections, reference::RayMatrix(scene).times(reference::vector_of(object)))};
  const Volume noise = reference::random_volume(scene.projections, 3);
  scan.w = reference::random_volume(scene.projections, 5);
  for (std::size_t n = 0; n < noise.voxels.size(); ++n) {
    scan.b.voxels[n] *= 0.9f + 0.2f * noise.voxels[n];
    if (n % 11 == 0) scan.w->voxels[n] = 0;
  }
  scan.start = reference::random_volume(scene.grid, 7);
  scan.reference = reference::random_volume(scene.grid, 13);
  return scan;
}

// 17 views, which 4 subsets do not divide.
const MeasuredScan& tilted() {
  static const MeasuredScan scan = [] {
    auto scene = reference::scene_named("cone_tilted");
    const auto more = reference::scene_named("cone").geometry.views;
    for (std::size_t n = 0; n < 8; ++n) {
      scene.geometry.views.push_back(more[n]);
      scene.geometry.views.back().gantry_angle += 0.3;
    }
    scene.projections.size[2] = 17;
    return measured(scene);
  }();
  return scan;
}
const MeasuredScan& parallel() {
  static const MeasuredScan scan = measured(reference::scene_named("parallel"));
  return scan;
}

ReconstructionParameters parameters(const char* method, int passes) {
  ReconstructionParameters result;
  result.method = method;
  result.passes = passes;
  if (solver_method(method).subsets) result.subsets = 4;
  result.lambda = 3;
  result.regulariser.minimum = -0.1;
  result.gap = 0;
  return result;
}

SplitRun any_split(const MeasuredScan& scan, const ReconstructionParameters& parameters) {
  return [&scan, parameters](const auto& devices, const auto& options) {
    return scan.reconstructed(parameters, devices, options).run();
  };
}

class PenalisedSplits : public testing::TestWithParam<const char*> {};

TEST_P(PenalisedSplits, SlabsBatchesAndDevicesChangeNoBit) {
  expect_same_bits(any_split(tilted(), parameters(GetParam(), 6)), tilted().scene.grid.size[2],
                   {{3, 0}, {7, 2}, {1000, 1}, {0, 3}});
}

TEST_P(PenalisedSplits, UnweightedFromNothing) {
  MeasuredScan scan = parallel();
  scan.w.reset();
  scan.start.reset();
  expect_same_bits(any_split(scan, parameters(GetParam(), 2)), scan.scene.grid.size[2], {{3, 2}});
}

// States after every subset: between two looks at the gap, after them, and where sums are made again.
TEST_P(PenalisedSplits, GoOnFromAnyState) {
  const int subsets = solver_method(GetParam()).subsets ? 4 : 1, passes = 11;
  const auto run = any_split(parallel(), parameters(GetParam(), passes));
  const RunResult whole = run(reference::device(), {});
  EXPECT_EQ(whole.iterations, passes * subsets);
  expect_same_bits_resumed(run, static_cast<std::size_t>(whole.iterations - 1), subsets == 1 ? 3 : 7);
}

TEST_P(PenalisedSplits, DualsOfAStartChangeNoBit) {
  MeasuredScan scan = tilted();
  scan.near_minimum = true;
  const auto run = any_split(scan, parameters(GetParam(), 2));
  expect_same_bits(run, scan.scene.grid.size[2], {{3, 0}, {7, 2}});
}

TEST_P(PenalisedSplits, AreStreamedWhereTheDeviceIsSmall) {
  for (const double part : {0.3, 0.15}) expect_same_bits_streamed(any_split(tilted(), parameters(GetParam(), 2)), part);
}

TEST_P(PenalisedSplits, PartsOfTheGapAddUp) {
  // known to the last look: the whole gap, and in the scalar "mismatch" the part of the rays
  const auto with_map = [](const std::vector<Device>& devices, const RunOptions& options) {
    return tilted().reconstructed(parameters(GetParam(), 6), devices, options, true);
  };
  const Reconstructed whole = with_map(reference::device(), {});
  const auto& parts = whole.gap_map.voxels;
  const auto& known = whole.result.run.scalars;
  EXPECT_GE(*std::min_element(parts.begin(), parts.end()), -1e-6 * known.at("gap"));
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  EXPECT_NEAR(sum + known.at("mismatch"), known.at("gap"), 1e-5 * known.at("gap"));
  EXPECT_GT(sum, 0);
  const Reconstructed without = tilted().reconstructed(parameters(GetParam(), 6));
  EXPECT_TRUE(without.x.voxels == whole.x.voxels);
  for (const auto& [slabs, batch] : {std::pair{3, 0}, {7, 2}, {11, 1}}) {
    const Reconstructed other = with_map(reference::device(), split(slabs, batch));
    EXPECT_TRUE(other.gap_map.voxels == parts) << slabs << " slabs";
    EXPECT_EQ(other.result.run.bus_bytes, other.result.run.plan.bus_bytes);
  }
  const auto& devices = reference::sub_devices(2);
  EXPECT_TRUE(with_map(devices, shared(devices)).gap_map.voxels == with_map(reference::undivided(), {}).gap_map.voxels);
}

INSTANTIATE_TEST_SUITE_P(, PenalisedSplits, testing::Values("spdhg", "fista", "os-fista"), [](const auto& each) {
  std::string name = each.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Subsets of 17 views.
TEST(PenalisedSplit, OfAnySubsetsChangesNoBit) {
  for (const int subsets : {1, 2, 9, 17})
    for (const char* method : {"spdhg", "os-fista"}) {
      SCOPED_TRACE(testing::Message() << method << ", " << subsets << " subsets");
      auto chosen = parameters(method, 2);
      chosen.subsets = subsets;
      expect_same_bits(any_split(tilted(), chosen), tilted().scene.grid.size[2], {{3, 0}, {7, 1}});
    }
}

TEST(PenalisedSplit, OfOtherRegularisersChangesNoBit) {
  for (const auto variation : {Variation::anisotropic, Variation::huber})
    for (const char* method : {"spdhg", "fista"}) {
      auto chosen = parameters(method, 2);
      chosen.regulariser.variation = variation;
      if (variation == Variation::huber) chosen.regulariser.huber_delta = 0.05;
      chosen.regulariser.guided = true;
      chosen.regulariser.reference_eta = 0.1;
      chosen.regulariser.maximum = 0.8;
      expect_same_bits(any_split(tilted(), chosen), tilted().scene.grid.size[2], {{3, 0}, {7, 2}});
    }
}

}  // namespace
}  // namespace halocline::penalised_splits_test
