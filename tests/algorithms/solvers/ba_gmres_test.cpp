// labels: device slab error
// BA-GMRES with and without the exact adjoint, against double precision; one slab against many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "host/system/error.hpp"
#include "tests/reference/solver_scan.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::ba_gmres_test {
namespace {

using reference::device;
using reference::difference;
using reference::Scan;

struct Asked {
  int passes = 0;
  double tolerance = 0;
  bool from_start = false;
};

RunResult found_by(const Scan& scan, const Asked& asked, const std::vector<Device>& devices = device(),
                   const RunOptions& options = {}, Projector backprojector = Projector::distance_driven) {
  const ReconstructionParameters parameters{.method = "ba-gmres", .passes = asked.passes, .tolerance = asked.tolerance};
  return reference::run(scan, reference::solver(scan, parameters, {.start = asked.from_start}), devices, options,
                        backprojector);
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
            found_by(scan, {.passes = iterations, .from_start = from_start}, device(), {}, backprojector);
        EXPECT_LT(difference(found.output, expected), 2e-4);
        EXPECT_NEAR(found.scalars.at("gradient"), gradient, 1e-3 * gradient);
        EXPECT_NEAR(found.scalars.at("residual"), problem.residual(expected), 1e-4 * problem.residual(expected));
        EXPECT_TRUE(iterations == 1 || found.scalars.at("gradient") < before);
        before = found.scalars.at("gradient");
      }
  }
}

SplitRun any_split(const Scan& scan, const Asked& parameters) {
  return [=, &scan](const auto& devices, const auto& options) { return found_by(scan, parameters, devices, options); };
}

TEST_P(BaGmresScenes, SlabsBatchesAndDevicesChangeNoBit) {
  const Scan scan(GetParam(), 1);
  expect_same_bits(any_split(scan, {.passes = 3}), scan.scene.grid.size[2]);
}

INSTANTIATE_TEST_SUITE_P(, BaGmresScenes,
                         testing::Values(reference::scene_named("cone"), reference::scene_named("parallel")),
                         [](const auto& each) { return each.param.name; });

TEST(BaGmres, GoesOnFromEveryState) {
  const Scan scan(reference::scene_named("cone"), 1);
  expect_same_bits_resumed(any_split(scan, {.passes = 4}), 3);
}

TEST(BaGmres, EndsWhereTheGradientIsSmall) {
  const Scan scan(reference::scene_named("cone"), 1);
  const auto ended = found_by(scan, {.passes = 12, .tolerance = 0.05});
  ASSERT_EQ(ended.stopped_by, StoppedBy::method);
  ASSERT_LT(ended.iterations, 12);
  EXPECT_TRUE(ended.output.voxels == found_by(scan, {.passes = ended.iterations}).output.voxels);
}

TEST(BaGmres, OfNothingIsNothing) {
  Scan scan(reference::scene_named("cone"), 1);
  std::fill(scan.b.voxels.begin(), scan.b.voxels.end(), 0.0f);
  EXPECT_THAT(found_by(scan, {.passes = 3}).output.voxels, testing::Each(0.0f));
}

TEST(BaGmres, NamesTheParameter) {
  const Scan scan(reference::scene_named("cone"), 1);
  const auto message = [&](const Asked& parameters) -> std::string {
    try {
      found_by(scan, parameters);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(message({.passes = -1}), testing::HasSubstr("`iterations` is -1; expected at least 1"));
  EXPECT_THAT(message({.passes = 501}), testing::HasSubstr("`iterations` is 501; expected at most 500"));
  EXPECT_THAT(message({.tolerance = 1}), testing::HasSubstr("`tolerance` is 1"));
}

}  // namespace
}  // namespace halocline::ba_gmres_test
