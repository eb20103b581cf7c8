// labels: device slab
// ASD-POCS against double precision, one slab against many, and what it is for.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/reference/iterative_problems.hpp"
#include "tests/reference/solver_scan.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::asd_pocs_test {
namespace {

using reference::AsdPocsParameters;
using reference::device;
using reference::difference;
using reference::minus;
using reference::norm;
using reference::run;
using reference::Scan;
using reference::solver;
using reference::Vector;
using reference::vector_of;

RunResult found_by(const Scan& scan, const std::string& method, int passes, bool from_start = false,
                   const std::vector<Device>& devices = device(), const RunOptions& options = {}) {
  const ReconstructionParameters parameters{.method = method, .passes = passes, .relaxation = 0.9};
  return run(scan, solver(scan, parameters, {.start = from_start}), devices, options);
}

class AsdPocsScenes : public testing::TestWithParam<reference::Scene> {};

// Change of the result with data that differ by float32 rounding, in double precision.
double sensitivity(const Scan& scan, reference::LeastSquares problem, const AsdPocsParameters& parameters,
                   const Vector& expected) {
  const Volume random = reference::random_volume(scan.scene.projections, 17);
  for (std::size_t n = 0; n < problem.b.size(); ++n) problem.b[n] *= 1 + 2e-7 * (random.voxels[n] - 0.5);
  const Vector moved = reference::asd_pocs(problem, scan.rays(), scan.scene.grid, parameters).first;
  return reference::relative_difference(moved, expected);
}

TEST_P(AsdPocsScenes, MatchDoublePrecision) {
  int compared = 0;
  for (const int subsets : {1, 4}) {
    const Scan scan(GetParam(), subsets);
    for (const bool from_start : {false, true}) {
      SCOPED_TRACE(testing::Message() << subsets << " subsets, start " << from_start);
      const AsdPocsParameters parameters{.passes = 3, .relaxation = 0.9};
      const auto problem = scan.problem(false, from_start ? std::nullopt : std::optional(0.0));
      const auto [expected, step] = reference::asd_pocs(problem, scan.rays(), scan.scene.grid, parameters);
      // Neighbouring voxels that begin at 0 can become so alike that the direction of their difference is rounding.
      if (sensitivity(scan, problem, parameters, expected) > 1e-6) continue;
      ++compared;
      const auto found = found_by(scan, "asd-pocs", 3, from_start);
      EXPECT_LT(difference(found.output, expected), 1e-4);
      EXPECT_NEAR(found.scalars.at("step"), step, 1e-4 * step);
      EXPECT_NEAR(found.scalars.at("residual"), problem.residual(expected), 2e-4 * problem.residual(expected));
    }
  }
  EXPECT_GE(compared, 2);
}

SplitRun any_split(const Scan& scan, int passes) {
  return [=, &scan](const auto& devices, const auto& options) {
    return found_by(scan, "asd-pocs", passes, false, devices, options);
  };
}

TEST_P(AsdPocsScenes, SlabsBatchesAndDevicesChangeNoBit) {
  const Scan scan(GetParam(), 4);
  expect_same_bits(any_split(scan, 2), scan.scene.grid.size[2]);
}

INSTANTIATE_TEST_SUITE_P(, AsdPocsScenes,
                         testing::Values(reference::scene_named("cone_tilted"), reference::scene_named("parallel"),
                                         reference::scene_named("cone_one_slice"), reference::scene_named("fan")),
                         [](const auto& each) { return each.param.name; });

// Two rectangles, seen from twelve sides.
TEST(AsdPocs, LowersVariationAndErrorOfAPiecewiseConstantObject) {
  const auto scene = reference::parallel_scene(32, 12, 47);
  Volume truth(scene.grid);
  for (std::size_t j = 6; j < 27; ++j)
    for (std::size_t i = 5; i < 24; ++i) truth.voxels[i + 32 * j] = i > 12 && j > 10 && j < 20 ? 2 : 1;
  Scan scan(scene, 12);
  const Vector b = scan.A.times(vector_of(truth));
  std::copy(b.begin(), b.end(), scan.b.voxels.begin());
  const auto plain = found_by(scan, "os-sart", 50), smooth = found_by(scan, "asd-pocs", 50);
  const auto error = [&](const RunResult& result) { return norm(minus(vector_of(result.output), vector_of(truth))); };
  const auto variation = [&](const Volume& volume) {
    return reference::total_variation({scene.grid.size, scene.grid.spacing}, vector_of(volume));
  };
  EXPECT_LT(error(smooth), 0.4 * error(plain));
  EXPECT_LT(variation(smooth.output), 0.9 * variation(plain.output));
  EXPECT_NEAR(variation(smooth.output), variation(truth), 0.05 * variation(truth));
}

TEST(AsdPocs, GoesOnFromEveryState) {
  const Scan scan(reference::scene_named("cone_tilted"), 4);
  expect_same_bits_resumed(any_split(scan, 2), 7);
}

}  // namespace
}  // namespace halocline::asd_pocs_test
