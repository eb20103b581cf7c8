// labels: device slab
// Solvers that keep A_s^T 1 of every subset s and those that compute it in each iteration do the same, bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "algorithms/solvers/reconstruct.hpp"
#include "host/system/error.hpp"
#include "tests/reference/solver_scan.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::subset_sums_test {
namespace {

using reference::Scan;

const Scan& scan() {
  static const Scan cone(reference::scene_named("cone"), 4);
  return cone;
}

SplitRun found_by(const std::string& method, bool keeps) {
  return [=](const auto& devices, const auto& options) {
    const auto program = [&](const RayOperator& A) {
      return solver_program(A, scan().subsets,
                            {.method = method, .passes = 2, .relaxation = method == "osem" ? 1 : 0.9}, {}, keeps);
    };
    return reference::run(scan(), program, devices, options);
  };
}

class SubsetSums : public testing::TestWithParam<const char*> {};

TEST_P(SubsetSums, AreKeptOrComputedAgain) {
  const RunResult kept = found_by(GetParam(), true)(reference::device(), {}),
                  plain = found_by(GetParam(), false)(reference::device(), {});
  EXPECT_TRUE(kept.output.voxels == plain.output.voxels);
  EXPECT_EQ(kept.scalars, plain.scalars);
  EXPECT_LT(kept.plan.seconds, plain.plan.seconds);
}

TEST_P(SubsetSums, AreTheSameInParts) {
  expect_same_bits(found_by(GetParam(), true), scan().scene.grid.size[2]);
}

TEST_P(SubsetSums, AreNotPartOfAStoredState) {
  const RunResult whole = found_by(GetParam(), false)(reference::device(), {});
  for (const bool keeps : {false, true}) {
    KeptStates memory, stored;
    RunOptions storing, going_on;
    storing.checkpoint_store = &memory;
    storing.keep_every = 0;
    found_by(GetParam(), keeps)(reference::device(), storing);
    ASSERT_EQ(memory.all.size(), 7);
    stored.from = &memory.all[4];
    going_on.checkpoint_store = &stored;
    const RunResult resumed = found_by(GetParam(), !keeps)(reference::device(), going_on);
    EXPECT_TRUE(resumed.output.voxels == whole.output.voxels);
    EXPECT_EQ(resumed.scalars, whole.scalars);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, SubsetSums, testing::Values("os-sart", "osem", "asd-pocs"));

Plan planned(const std::string& method, std::size_t memory) {
  const reference::Scene& scene = scan().scene;
  auto models = device_models(reference::device());
  models.front().memory = memory;
  return plan_reconstruct(scene.projections, scene.geometry, scene.grid, {.method = method, .passes = 3}, {}, models);
}

std::ptrdiff_t kept_sums(const Plan& plan) {
  const auto& arrays = plan.requirements.arrays;
  return std::count_if(arrays.begin(), arrays.end(), [](const auto& need) { return need.name.starts_with("1/C"); });
}

TEST(SubsetSumPlans, KeepSumsThatFit) {
  const auto views = static_cast<std::ptrdiff_t>(scan().scene.projections.size[2]);
  std::size_t memory = std::size_t{1} << 30;
  EXPECT_EQ(kept_sums(planned("sart", memory)), views);
  EXPECT_EQ(kept_sums(planned("cgls", memory)), 0);
  EXPECT_EQ(kept_sums(planned("mlem", memory)), 1);
  const auto resident = [](std::size_t bytes) {
    try {
      return planned("sart", bytes).resident;
    } catch (const PlanError&) {
      return false;
    }
  };
  while (resident(memory / 100 * 99)) memory = memory / 100 * 99;
  EXPECT_EQ(kept_sums(planned("sart", memory)), 0);
}

}  // namespace
}  // namespace halocline::subset_sums_test
