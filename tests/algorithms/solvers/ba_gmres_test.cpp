// labels: device slab error
// BA-GMRES with and without the exact adjoint, against double precision; one slab against many.
#include "algorithms/solvers/ba_gmres.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "host/error.hpp"
#include "tests/reference/solver_scan.hpp"
#include "tests/support/kept_states.hpp"

namespace halocline {
namespace {

using reference::device;
using reference::difference;
using reference::Scan;

RunResult found_by(const Scan& scan, const BaGmresParameters& parameters, const std::vector<Device>& devices = device(),
                   const RunOptions& options = {}, Projector backprojector = Projector::distance_driven) {
  return reference::run(
      scan, [&](const RayOperator& A) { return ba_gmres(A, parameters); }, devices, options, backprojector);
}

class BaGmresScenes : public testing::TestWithParam<reference::Scene> {};

TEST_P(BaGmresScenes, MatchDoublePrecision) {
  const Scan scan(GetParam(), 1);
  for (const Projector backprojector : {Projector::joseph, Projector::distance_driven}) {
    const reference::RayMatrix B(scan.scene, backprojector);
    double before = 1e300;
    for (const bool from_start : {false, true})
      for (const int iterations : {1, 3, 6}) {
        SCOPED_TRACE(testing::Message() << projector_name(backprojector) << ", " << iterations);
        const auto problem = scan.problem(false, from_start ? std::nullopt : std::optional(0.0));
        const auto [expected, gradient] = reference::ba_gmres(problem, B, iterations);
        const auto found =
            found_by(scan, {.iterations = iterations, .from_start = from_start}, device(), {}, backprojector);
        EXPECT_LT(difference(found.output, expected), 2e-4);
        EXPECT_NEAR(found.scalars.at("gradient"), gradient, 1e-3 * gradient);
        EXPECT_NEAR(found.scalars.at("residual"), problem.residual(expected), 1e-4 * problem.residual(expected));
        EXPECT_TRUE(iterations == 1 || found.scalars.at("gradient") < before);
        before = found.scalars.at("gradient");
      }
  }
}

TEST_P(BaGmresScenes, SlabsBatchesAndDevicesChangeNoBit) {
  const Scan scan(GetParam(), 1);
  const auto slices = static_cast<int>(scan.scene.grid.size[2]);
  const BaGmresParameters parameters{.iterations = 3};
  const auto whole = found_by(scan, parameters);
  EXPECT_EQ(whole.bus_bytes, whole.plan.bus_bytes);
  for (const auto& [slabs, batch] : {std::pair{2, 3}, {slices, 2}, {0, 2}}) {
    SCOPED_TRACE(testing::Message() << slabs << " slabs, batches of " << batch);
    RunOptions options;
    options.plan.minimum_slabs = slabs;
    options.plan.batch = batch;
    const auto other = found_by(scan, parameters, device(), options);
    EXPECT_TRUE(other.output.voxels == whole.output.voxels);
    EXPECT_EQ(other.scalars, whole.scalars);
    EXPECT_EQ(other.bus_bytes, other.plan.bus_bytes);
  }
  const auto one = found_by(scan, parameters, reference::undivided());
  RunOptions options;
  for (const Device& each : reference::sub_devices(2)) options.plan.speeds[each.info().name] = 1;
  EXPECT_TRUE(found_by(scan, parameters, reference::sub_devices(2), options).output.voxels == one.output.voxels);
}

std::vector<reference::Scene> chosen_scenes() {
  std::vector<reference::Scene> chosen;
  for (const auto& scene : reference::scenes())
    if (scene.name == "cone" || scene.name == "parallel") chosen.push_back(scene);
  return chosen;
}
INSTANTIATE_TEST_SUITE_P(, BaGmresScenes, testing::ValuesIn(chosen_scenes()),
                         [](const auto& each) { return each.param.name; });

TEST(BaGmres, GoesOnFromEveryState) {
  const Scan scan(chosen_scenes().front(), 1);
  const BaGmresParameters parameters{.iterations = 4};
  const auto whole = found_by(scan, parameters);
  KeptStates memory;
  RunOptions keeping;
  keeping.plan.minimum_slabs = 2;
  keeping.checkpoint_store = &memory;
  keeping.keep_every = 0;
  found_by(scan, parameters, device(), keeping);
  ASSERT_EQ(memory.all.size(), 3u);
  for (const auto& state : memory.all) {
    KeptStates kept;
    kept.from = &state;
    RunOptions options;
    options.checkpoint_store = &kept;
    EXPECT_TRUE(found_by(scan, parameters, device(), options).output.voxels == whole.output.voxels);
  }
}

TEST(BaGmres, EndsWhereTheGradientIsSmall) {
  const Scan scan(chosen_scenes().front(), 1);
  const auto ended = found_by(scan, {.iterations = 12, .tolerance = 0.05});
  ASSERT_EQ(ended.stopped_by, StoppedBy::method);
  ASSERT_LT(ended.iterations, 12);
  EXPECT_TRUE(ended.output.voxels == found_by(scan, {.iterations = ended.iterations}).output.voxels);
}

TEST(BaGmres, OfNothingIsNothing) {
  Scan scan(chosen_scenes().front(), 1);
  std::fill(scan.b.voxels.begin(), scan.b.voxels.end(), 0.0f);
  EXPECT_THAT(found_by(scan, {.iterations = 3}).output.voxels, testing::Each(0.0f));
}

TEST(BaGmres, NamesTheParameter) {
  const Scan scan(chosen_scenes().front(), 1);
  const auto message = [&](const BaGmresParameters& parameters) -> std::string {
    try {
      found_by(scan, parameters);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(message({.iterations = 0}), testing::HasSubstr("`iterations` is 0; expected at least 1"));
  EXPECT_THAT(message({.tolerance = 1}), testing::HasSubstr("`tolerance` is 1"));
}

}  // namespace
}  // namespace halocline
