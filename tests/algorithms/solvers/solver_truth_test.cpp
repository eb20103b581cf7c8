// labels: device slab error
// The error to a truth in the records of reconstruct(): against double precision, on any slabs, without an effect on
// the result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduling/profiling/rates.hpp"
#include "tests/reference/ray_matrix.hpp"
#include "tests/support/reconstruct_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::solver_truth_test {
namespace {

const MeasuredScan& scan_with_truth() {
  static const MeasuredScan scan = [] {
    MeasuredScan result{.scene = reference::scene_named("cone")};
    const Volume object = reference::random_volume(result.scene.grid, 11);
    result.b = reference::volume_of(result.scene.projections,
                                    reference::RayMatrix(result.scene).times(reference::vector_of(object)));
    result.start = reference::random_volume(result.scene.grid, 7);
    result.truth = object;
    return result;
  }();
  return scan;
}

MeasuredScan without_truth(MeasuredScan scan) {
  scan.truth.reset();
  return scan;
}

ReconstructionParameters parameters_of(const char* method, int passes) {
  ReconstructionParameters result{.method = method, .passes = passes};
  if (solver_method(method).subsets) result.subsets = 3;
  if (solver_method(method).penalty) {
    result.lambda = 3;
    result.regulariser.minimum = -0.1;
    result.gap = 0;
    result.polish_steps = 5;
  }
  return result;
}

class SolverTruth : public testing::TestWithParam<const char*> {};

TEST_P(SolverTruth, IsComparedWithWhereverThereIsARecord) {
  const MeasuredScan& scan = scan_with_truth();
  const int passes = solver_method(GetParam()).penalty ? 11 : 4;
  const auto& history = scan.reconstructed(parameters_of(GetParam(), passes)).result.history;
  ASSERT_GE(history.size(), 2u);
  double seconds = 0;
  for (const ReconstructionRecord& record : history) {
    SCOPED_TRACE(record.passes);
    const auto until = parameters_of(GetParam(), static_cast<int>(record.passes));
    const Volume x = without_truth(scan).reconstructed(until).x;
    double error2 = 0, norm2 = 0;
    for (std::size_t n = 0; n < x.voxels.size(); ++n) {
      const double truth = scan.truth->voxels[n];
      error2 += (x.voxels[n] - truth) * (x.voxels[n] - truth);
      norm2 += truth * truth;
    }
    const double rmse = std::sqrt(error2 / static_cast<double>(x.voxels.size())), relative = std::sqrt(error2 / norm2);
    EXPECT_NEAR(record.truth_rmse, rmse, 2e-6 * rmse);
    EXPECT_NEAR(record.truth_relative, relative, 2e-6 * relative);
    EXPECT_GT(record.seconds, seconds);
    seconds = record.seconds;
  }
}

TEST_P(SolverTruth, ChangesNoBitOfTheResult) {
  const auto parameters = parameters_of(GetParam(), 6);
  const auto with = scan_with_truth().reconstructed(parameters),
             without = without_truth(scan_with_truth()).reconstructed(parameters);
  EXPECT_TRUE(with.x.voxels == without.x.voxels);
  ASSERT_EQ(with.result.history.size(), without.result.history.size());
  for (std::size_t n = 0; n < with.result.history.size(); ++n) {
    EXPECT_EQ(with.result.history[n].residual, without.result.history[n].residual);
    EXPECT_TRUE(std::isnan(without.result.history[n].truth_rmse));
  }
}

TEST_P(SolverTruth, IsComparedToTheSameBitsOnAnySlabsAndDevices) {
  const MeasuredScan& scan = scan_with_truth();
  const SplitRun run = [&](const auto& devices, const auto& options) {
    return scan.reconstructed(parameters_of(GetParam(), 3), devices, options).run();
  };
  expect_same_bits(run, scan.scene.grid.size[2]);
}

INSTANTIATE_TEST_SUITE_P(Methods, SolverTruth,
                         testing::Values("cgls", "sirt", "os-sart", "ba-gmres", "spdhg", "fista", "os-fista"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SolverTruths, GoOnWithTheSecondsOfTheRunThatWasResumed) {
  const MeasuredScan& scan = scan_with_truth();
  const SplitRun run = [&](const auto& devices, const auto& options) {
    return scan.reconstructed(parameters_of("cgls", 4), devices, options).run();
  };
  expect_same_bits_resumed(run, 3);
  KeptStates memory;
  RunOptions options;
  options.checkpoint_store = &memory;
  options.keep_every = 0;
  const auto whole = scan.reconstructed(parameters_of("cgls", 4), reference::device(), options).result.history;
  KeptStates kept;
  kept.from = &memory.all.back();
  options.checkpoint_store = &kept;
  const auto resumed = scan.reconstructed(parameters_of("cgls", 4), reference::device(), options).result.history;
  EXPECT_GT(resumed.front().seconds, whole[2].seconds);
  EXPECT_EQ(resumed.back().truth_rmse, whole.back().truth_rmse);
}

TEST(SolverTruths, AreRefusedWhereTheyDoNotFit) {
  MeasuredScan scan = scan_with_truth();
  const auto refusal = [&] { return refusal_of([&] { scan.reconstructed(parameters_of("cgls", 2)); }); };
  scan.truth->voxels[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(refusal().find("`truth`"), std::string::npos);
  Grid other = scan.scene.grid;
  other.size[1] += 1;
  scan.truth = Volume(other, 1);
  EXPECT_NE(refusal().find("`truth`"), std::string::npos);
}

TEST(SolverTruths, ArePlanned) {
  const reference::Scene& scene = scan_with_truth().scene;
  const auto bytes = [&](bool truth) {
    const Plan plan = plan_reconstruct(scene.projections, scene.geometry, scene.grid, parameters_of("cgls", 2),
                                       {.truth = truth}, device_models(reference::device()));
    return plan.slabs.front().bytes;
  };
  EXPECT_GE(bytes(true), bytes(false) + sizeof(float) * scene.grid.count());
}

}  // namespace
}  // namespace halocline::solver_truth_test
