// labels: device slab
// SIRT and CGLS against double precision with the explicit matrix, known answers, and one slab against many slabs,
// batches and devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/reference/solver_reference.hpp"
#include "tests/support/reconstruct_run.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::solvers_test {
namespace {

using reference::device;
using reference::norm;
using reference::RayMatrix;
using reference::Vector;

struct Asked {
  std::string method = "sirt";
  int passes = 0;
  Projector projector = Projector::joseph;
  double relaxation = 1, tolerance = 0;
  double minimum = Regulariser().minimum;

  ReconstructionParameters parameters() const {
    ReconstructionParameters result;
    result.method = method;
    result.passes = passes;
    result.projector = projector;
    result.relaxation = relaxation;
    result.tolerance = tolerance;
    result.regulariser.minimum = minimum;
    return result;
  }
};

Reconstructed run(const Volume& b, const reference::Scene& scene, const Asked& asked,
                  const std::vector<Device>& devices = device(), const RunOptions& options = {}) {
  return MeasuredScan{scene, b}.reconstructed(asked.parameters(), devices, options);
}

SplitRun any_split(const Volume& b, const reference::Scene& scene, const Asked& asked) {
  return [&b, &scene, asked](const auto& devices, const auto& options) {
    return run(b, scene, asked, devices, options).run();
  };
}

// Projections of an object without symmetry.
Volume projections_of(const RayMatrix& A, const reference::Scene& scene) {
  const Volume truth = reference::random_volume(scene.grid, 11);
  const Vector b = A.times(Vector(truth.voxels.begin(), truth.voxels.end()));
  return reference::volume_of(scene.projections, b);
}

double relative_difference(const Volume& found, const Vector& expected) {
  return reference::relative_difference(reference::vector_of(found), expected);
}

class SolverScenes : public testing::TestWithParam<reference::Scene> {};

TEST_P(SolverScenes, MatchDoublePrecisionWithTheMatrix) {
  const auto& scene = GetParam();
  for (const Projector projector : {Projector::joseph, Projector::distance_driven}) {
    const RayMatrix A(scene, projector);
    const Volume b = projections_of(A, scene);
    const Vector exact = reference::vector_of(b);
    SCOPED_TRACE(projector_name(projector));
    for (const int iterations : {1, 7}) {
      SCOPED_TRACE(iterations);
      const auto x = run(b, scene, {.passes = iterations, .projector = projector, .relaxation = 1.3});
      const Vector expected = reference::sirt({A, exact}, iterations, 1.3);
      EXPECT_LT(relative_difference(x.x, expected), 2e-5);
      EXPECT_NEAR(x.result.residual, norm(reference::minus(exact, A.times(expected))), 1e-4 * norm(exact));
      const auto y = run(b, scene, {.method = "cgls", .passes = iterations, .projector = projector});
      EXPECT_LT(relative_difference(y.x, reference::cgls({A, exact}, iterations)), iterations == 1 ? 2e-5 : 2e-3);
      EXPECT_TRUE(y.result.run.iterations == iterations || y.result.run.stopped_by == StoppedBy::method);
      EXPECT_NEAR(y.result.projections, norm(exact), 1e-9 * norm(exact));
    }
  }
}

TEST_P(SolverScenes, SlabsBatchesAndDevicesChangeNoBit) {
  const auto& scene = GetParam();
  const Volume b = projections_of(RayMatrix(scene), scene);
  for (const char* method : {"sirt", "cgls", "sart"}) {
    SCOPED_TRACE(method);
    if (method == std::string("sart")) {
      expect_same_bits(any_split(b, scene, {.method = method, .passes = 1}), scene.grid.size[2], {{3, 0}, {0, 1}});
      continue;
    }
    expect_same_bits(any_split(b, scene, {.method = method, .passes = 4}), scene.grid.size[2],
                     {{2, 1}, {2, 3}, {3, 1}, {3, 3}, {1000, 1}, {1000, 3}, {0, 2}});
  }
}

const reference::Scene& cone() {
  static const auto all = reference::scenes();
  return all.front();
}
const Volume& cone_projections() {
  static const Volume b = projections_of(RayMatrix(cone()), cone());
  return b;
}

TEST(Solvers, GoOnFromEveryStateToTheSameBits) {
  for (const char* method : {"sirt", "cgls"})
    expect_same_bits_resumed(any_split(cone_projections(), cone(), {.method = method, .passes = 5}), 4);
}

TEST(Solvers, RefuseTheStateOfAnotherJob) {
  KeptStates memory;
  RunOptions options;
  options.checkpoint_store = &memory;
  options.keep_every = 0;
  run(cone_projections(), cone(), {.method = "sirt", .passes = 3}, device(), options);
  memory.from = &memory.all.front();
  EXPECT_THROW(run(cone_projections(), cone(), {.method = "cgls", .passes = 3}, device(), options), InputError);
}

TEST(Solvers, KeepWhatThereIsWhenTheyAreInterrupted) {
  const auto expected = run(cone_projections(), cone(), {.passes = 3});
  KeptStates memory;
  RunOptions options;
  options.keep_partial = true;
  options.checkpoint_store = &memory;
  options.keep_every = 1000;
  options.progress = [](const ProgressState& state) { request_interrupt(state.done == 3); };
  const auto found = run(cone_projections(), cone(), {.passes = 50}, device(), options);
  request_interrupt(false);
  EXPECT_EQ(found.result.run.stopped_by, StoppedBy::interrupt);
  EXPECT_EQ(found.result.run.iterations, 3);
  EXPECT_TRUE(found.x.voxels == expected.x.voxels);
  ASSERT_EQ(memory.all.size(), 1u);
  EXPECT_EQ(memory.all.front().state.iterations, 3);
  options.keep_partial = false;
  options.checkpoint_store = nullptr;
  EXPECT_THROW(run(cone_projections(), cone(), {.passes = 50}, device(), options), Interrupted);
  request_interrupt(false);
}

TEST(Solvers, AreStreamedWhereTheDeviceIsSmall) {
  expect_same_bits_streamed(any_split(cone_projections(), cone(), {.method = "cgls", .passes = 3}), 1.0 / 3);
  const auto none = open_devices({.device = reference::cpu_or_default(), .sub_devices = 0, .device_memory = 2000});
  EXPECT_THROW(run(cone_projections(), cone(), {.method = "cgls"}, none), PlanError);
}

TEST(Solvers, SayWhichParameterIsWrong) {
  const auto message = [](const Asked& parameters) -> std::string {
    try {
      run(cone_projections(), cone(), parameters);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  using testing::HasSubstr;
  EXPECT_THAT(message({.method = "art"}), HasSubstr("`method` is \"art\"; expected one of: spdhg, "));
  EXPECT_THAT(message({.relaxation = 2}), HasSubstr("`relaxation` is 2"));
  EXPECT_THAT(message({.passes = -1}), HasSubstr("`iterations` is -1"));
  EXPECT_THAT(message({.method = "cgls", .minimum = 0}),
              HasSubstr("(`minimum`, `maximum`) goes with another method than cgls; leave it out, or take one of:"));
  EXPECT_THAT(message({.method = "mlem", .tolerance = 0.1}),
              HasSubstr("`tolerance` goes with another method than mlem; leave it out, or take one of: cgls, lsqr"));
  EXPECT_THAT(message({.method = "sirt", .tolerance = 1}), HasSubstr("`tolerance` is 1"));
}

TEST(Solvers, LeaveNoVoxelBelowZero) {
  Volume b = cone_projections();
  for (std::size_t n = 0; n < b.voxels.size(); n += 2) b.voxels[n] = -b.voxels[n];
  const RayMatrix A(cone());
  const auto x = run(b, cone(), {.passes = 5, .minimum = 0});
  EXPECT_GE(*std::min_element(x.x.voxels.begin(), x.x.voxels.end()), 0);
  EXPECT_LT(relative_difference(x.x, reference::sirt({A, reference::vector_of(b)}, 5, 1, {.minimum = 0})),
            1e-4);  // terms cancel
}

// ||A^T W (b - A x)|| / ||A^T W b|| of what was found, W = 1 or of sirt 1 / (A 1).
double normal_residual(const RayMatrix& A, const Volume& b, const Volume& x, bool sirt) {
  const Vector w = sirt ? reference::inverse(A.row_sums()) : Vector(A.rows(), 1.0), data = reference::vector_of(b);
  const auto normal = [&](const Vector& r) { return norm(A.transposed_times(reference::product(r, w))); };
  return normal(reference::minus(data, A.times(reference::vector_of(x)))) / normal(data);
}

TEST(Solvers, EndWhereTheNormalResidualIsSmall) {
  const RayMatrix A(cone());
  MeasuredScan scan{cone(), cone_projections()};
  for (const char* method : {"cgls", "lsqr", "sirt", "nesterov"})
    for (const bool from_start : {false, true}) {
      SCOPED_TRACE(testing::Message() << method << (from_start ? " from an image" : ""));
      scan.start.reset();
      if (from_start) scan.start = reference::random_volume(cone().grid, 3);
      const auto found = scan.reconstructed(Asked{.method = method, .passes = 2000, .tolerance = 1e-2}.parameters());
      EXPECT_EQ(found.result.run.stopped_by, StoppedBy::method);
      EXPECT_LT(found.result.run.iterations, 2000);
      EXPECT_GT(found.result.run.iterations, 2);
      const double expected = normal_residual(A, scan.b, found.x, method == std::string("sirt"));
      const auto& history = found.result.history;
      EXPECT_NEAR(history.back().normal_residual, expected, 0.02 * expected) << "lsqr and cgls know it by recurrence";
      if (method != std::string("nesterov")) {
        EXPECT_LE(history.back().normal_residual, 1e-2);
        EXPECT_GT(history[history.size() - 2].normal_residual, 1e-2) << "and not one iteration later";
      }
    }
}

TEST(Solvers, SartIsOsSartOfSingleViews) {
  const auto sart = run(cone_projections(), cone(), {.method = "sart", .passes = 2, .relaxation = 0.7});
  auto parameters = Asked{.method = "os-sart", .passes = 2, .relaxation = 0.7}.parameters();
  parameters.subsets = static_cast<int>(cone().projections.size[2]);
  const auto subsets = MeasuredScan{cone(), cone_projections()}.reconstructed(parameters);
  EXPECT_TRUE(sart.x.voxels == subsets.x.voxels);
  EXPECT_EQ(sart.result.subsets, parameters.subsets);
  parameters.method = "sart";
  EXPECT_THROW((MeasuredScan{cone(), cone_projections()}.reconstructed(parameters)), InputError) << "`subsets`";
  EXPECT_EQ(subset_count(Asked{.method = "sart"}.parameters(), 720), 720);
}

TEST(Solvers, OfNothingIsNothing) {
  for (const char* method : {"sirt", "cgls"}) {
    Volume b(cone().projections);
    const auto x = run(b, cone(), {.method = method, .passes = 3});
    EXPECT_THAT(x.x.voxels, testing::Each(0.0f)) << method;
  }
}

std::vector<reference::Scene> chosen_scenes() {
  auto all = reference::scenes();
  all.push_back({"one_slice", all.front().geometry, all.front().projections, default_grid({13, 7, 1}, {2, 3, 1.5})});
  return all;
}
INSTANTIATE_TEST_SUITE_P(, SolverScenes, testing::ValuesIn(chosen_scenes()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace halocline::solvers_test
