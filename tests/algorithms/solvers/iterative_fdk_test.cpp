// labels: device slab error nightly
// Iterative FDK: images follow from projections and fdk(), on any slabs, batches and devices, and fit the data better.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/fdk/fdk.hpp"
#include "host/system/error.hpp"
#include "tests/reference/ray_matrix.hpp"
#include "tests/support/reconstruct_run.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::iterative_fdk_test {
namespace {

using testing::HasSubstr;

// All round, in the form that the iterations take: along measured rows.
FdkParameters plain_fdk() {
  FdkParameters parameters;
  parameters.log_notes = false;
  parameters.upright_rows = false;
  parameters.redundancy.allow_incomplete_arc = true;
  return parameters;
}

Volume fdk_of(const Volume& b, const reference::Scene& scene) {
  return fdk(b, scene.geometry, scene.grid, plain_fdk(), reference::device()).output;
}

// Views over an arc, projections of an object without symmetry.
MeasuredScan scan_of(const CircularOptions& options, double detector_offset, double radius = 0) {
  CircularOptions chosen = options;
  chosen.projection_offset_x = detector_offset;
  MeasuredScan scan{.scene = {"scan", circular_geometry(chosen),
                              reference::detector(33, 41, circular_geometry(chosen).views.size(), 1.5, 1.25),
                              default_grid({13, 9, 11}, {2, 3, 1.5})},
                    .b = {}};
  scan.scene.geometry.radius_cylindrical_detector = radius;
  scan.b = project(reference::random_volume(scan.scene.grid, 11), scan.scene.geometry, scan.scene.projections,
                   reference::device())
               .output;
  return scan;
}

CircularOptions circle(double arc = 360, int views = 24) {
  CircularOptions options;
  options.sid = 200;
  options.sdd = 300;
  options.arc = arc;
  options.projections = views;
  return options;
}

struct Kind {
  std::string name;
  MeasuredScan scan;
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}
std::vector<Kind> kinds() {
  CircularOptions tilted = circle();
  tilted.out_of_plane_angle = 7;
  CircularOptions parallel = circle(180);
  parallel.sdd = 0;
  return {{"full", scan_of(circle(), 0)},
          {"short", scan_of(circle(230), 0)},
          {"arc_too_short", scan_of(circle(120), 0)},
          {"displaced", scan_of(circle(), 12)},
          {"cylinder", scan_of(circle(), 0, 300)},
          {"tilted", scan_of(tilted, 0)},
          {"parallel", scan_of(parallel, 0)}};
}

ReconstructionParameters parameters(int passes, double relaxation = 1) {
  ReconstructionParameters result;
  result.method = "fdk";
  result.passes = passes;
  result.relaxation = relaxation;
  return result;
}

class IterativeFdk : public testing::TestWithParam<Kind> {};

double dot(const Volume& a, const Volume& b) {
  return reference::dot(reference::vector_of(a), reference::vector_of(b));
}

// The next image and residual, by other programs; they change by `relaxation` of the step to the least residual.
void iterate(const reference::Scene& scene, double relaxation, Volume& x, Volume& r) {
  const Volume u = fdk_of(r, scene), q = project(u, scene.geometry, scene.projections, reference::device()).output;
  const auto step = static_cast<float>(relaxation * dot(r, q) / dot(q, q));
  for (std::size_t n = 0; n < x.voxels.size(); ++n) x.voxels[n] += step * u.voxels[n];
  for (std::size_t n = 0; n < r.voxels.size(); ++n) r.voxels[n] -= step * q.voxels[n];
}

TEST_P(IterativeFdk, AddsFdkOfTheResidual) {
  const MeasuredScan& scan = GetParam().scan;
  Volume x(scan.scene.grid), r = scan.b;
  for (int passes = 1; passes <= 3; ++passes) {
    iterate(scan.scene, 0.8, x, r);
    const auto found = scan.reconstructed(parameters(passes, 0.8));
    EXPECT_LT(reference::relative_difference(reference::vector_of(found.x), reference::vector_of(x)), 2e-6) << passes;
    EXPECT_NEAR(found.result.residual, std::sqrt(dot(r, r)), 1e-5 * found.result.projections);
  }
}

TEST_P(IterativeFdk, TellsTheResidualAndWhatFdkMakesOfIt) {
  const MeasuredScan& scan = GetParam().scan;
  const auto found = scan.reconstructed(parameters(1));
  Volume rest = scan.b;
  const Volume again = project(found.x, scan.scene.geometry, scan.scene.projections, reference::device()).output;
  for (std::size_t n = 0; n < rest.voxels.size(); ++n) rest.voxels[n] -= again.voxels[n];
  const auto norm = [](const Volume& volume) { return reference::norm(reference::vector_of(volume)); };
  EXPECT_NEAR(found.result.residual, norm(rest), 1e-5 * norm(scan.b));
  const double normal = norm(fdk_of(rest, scan.scene)) / norm(fdk_of(scan.b, scan.scene));
  EXPECT_NEAR(found.result.history.back().normal_residual, normal, 1e-4 * normal);
}

TEST_P(IterativeFdk, SlabsBatchesAndDevicesChangeNoBit) {
  const MeasuredScan& scan = GetParam().scan;
  const SplitRun run = [&](const auto& devices, const auto& options) {
    return scan.reconstructed(parameters(3), devices, options).run();
  };
  expect_same_bits(run, scan.scene.grid.size[2]);
}

INSTANTIATE_TEST_SUITE_P(, IterativeFdk, testing::ValuesIn(kinds()), [](const auto& each) { return each.param.name; });

TEST(IterativeFdkRuns, GoOnFromEveryStateAndAreStreamed) {
  MeasuredScan scan = scan_of(circle(), 0);
  scan.start = reference::random_volume(scan.scene.grid, 7);
  auto chosen = parameters(4);
  chosen.regulariser.minimum = 0.2;
  const SplitRun run = [&](const auto& devices, const auto& options) {
    return scan.reconstructed(chosen, devices, options).run();
  };
  expect_same_bits_resumed(run, 3);
  expect_same_bits_streamed(run, 0.5);
}

TEST(IterativeFdkRuns, FitTheDataBetter) {
  const MeasuredScan scan = scan_of(circle(360, 60), 0);
  const auto one = scan.reconstructed(parameters(1)), five = scan.reconstructed(parameters(5));
  EXPECT_LT(five.result.residual, 0.5 * one.result.residual);
  const auto ended = [&] {
    auto chosen = parameters(100);
    chosen.tolerance = 0.5 * one.result.history.back().normal_residual;
    return scan.reconstructed(chosen).result;
  }();
  EXPECT_EQ(ended.run.stopped_by, StoppedBy::method);
  EXPECT_LT(ended.run.iterations, 100);
  EXPECT_GT(ended.run.iterations, 1);
}

// The ramp of a detector far finer than the voxels, and of nothing but noise, with the longest steps.
TEST(IterativeFdkRuns, NeverFitTheDataWorse) {
  MeasuredScan scan = scan_of(circle(), 0);
  scan.scene.projections = reference::detector(99, 41, 24, 0.5, 1.25);
  scan.b = reference::random_volume(scan.scene.projections, 4);
  for (const double relaxation : {0.5, 1.0, 1.99}) {
    const auto found = scan.reconstructed(parameters(60, relaxation));
    double before = found.result.projections;
    for (const auto& look : found.result.history) {
      EXPECT_LE(look.residual, before * (1 + 1e-6)) << look.passes;
      before = look.residual;
    }
  }
}

TEST(IterativeFdkRuns, RefuseWhatFdkCannotWeight) {
  const MeasuredScan scan = scan_of(circle(360, 4), 0);
  try {
    scan.reconstructed(parameters(2));
    FAIL() << "four views of a circle";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("its 4 views leave a gap of 90 degrees"));
  }
}

}  // namespace
}  // namespace halocline::iterative_fdk_test
