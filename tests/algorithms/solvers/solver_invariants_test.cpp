// labels: device slab error
// Invariants of the unregularised solvers, the quantities that they lower in every iteration, and known answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "host/system/error.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/iterative_problems.hpp"
#include "tests/reference/solver_scan.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::solver_invariants_test {
namespace {

using reference::difference;
using reference::dot;
using reference::minus;
using reference::norm;
using reference::product;
using reference::run;
using reference::Scan;
using reference::solver;
using reference::Vector;
using reference::vector_of;

const Scan& cone() {
  static const Scan scan(reference::scene_named("cone"), 1);
  return scan;
}
const Scan& parallel() {
  static const Scan scan(reference::scene_named("parallel"), 1);
  return scan;
}

RunResult found_by(const Scan& scan, const char* method, int passes, const GivenInputs& given = {}) {
  return run(scan, solver(scan, {.method = method, .passes = passes}, given));
}

TEST(SolverInvariants, HaveTheKnownAnswersOfAParallelScan) {
  const auto scene = reference::small_parallel_scene();
  const Vector truth = reference::toft_phantom(scene.grid);
  Scan scan(scene, 1);
  const Vector b = scan.A.times(truth);
  std::copy(b.begin(), b.end(), scan.b.voxels.begin());
  const auto judge = [&](int passes, double distance, double error) {
    const RunResult found = found_by(scan, "mlem", passes);
    const Vector x = vector_of(found.output);
    const double residual = norm(minus(vector_of(scan.b), scan.A.times(x)));
    EXPECT_NEAR(residual / norm(b), distance, 2e-5 * distance);
    EXPECT_NEAR(reference::rms_difference(x, truth), error, 2e-5 * error);
    EXPECT_NEAR(found.scalars.at("residual"), residual, 1e-4 * residual);
  };
  judge(10, 7.48012536e-2, .0694823562);
  judge(50, 1.83210444e-2, .0231971005);
}

TEST(SolverInvariants, ResidualsFallInEveryIteration) {
  for (const Scan* scan : {&cone(), &parallel()})
    for (const char* method : {"cgls", "lsqr"}) {
      double before = HUGE_VAL;
      for (int n = 1; n <= 12; ++n) {
        const double now = found_by(*scan, method, n, {.weights = true}).scalars.at("residual");
        EXPECT_LT(now, before) << method << " after " << n;
        before = now;
      }
    }
}

TEST(SolverInvariants, AcceleratedGradientKeepsItsBound) {
  Scan scan = cone();
  const Vector truth = vector_of(reference::random_volume(scan.scene.grid, 11)), b = scan.A.times(truth);
  std::copy(b.begin(), b.end(), scan.b.voxels.begin());
  const Vector d = scan.A.transposed_times(scan.A.row_sums());
  const double distance = dot(truth, product(d, truth));  // ||0 - x*||_d^2
  for (const int k : {1, 5, 20, 60}) {
    const double residual = found_by(scan, "nesterov", k).scalars.at("residual");
    EXPECT_LE(residual * residual / 2, 2 * distance / ((k + 1) * (k + 1))) << k;
  }
}

TEST(SolverInvariants, MomentumIsRestartedAsInDouble) {
  auto scene = reference::scene_named("cone");
  scene.grid = default_grid({3, 2, 2}, {9, 12, 10});  // few voxels: it converges soon
  const Scan scan(scene, 1);
  const auto problem = scan.problem(false, 0);
  const Bounds bounds{.minimum = 0};
  const Vector with = reference::gradient(problem, 15, true, true, bounds),
               without = reference::gradient(problem, 15, true, false, bounds);
  EXPECT_GT(norm(minus(with, without)), 1e-2 * norm(with)) << "nothing to tell";
  ReconstructionParameters parameters{.method = "nesterov", .passes = 15};
  parameters.regulariser.minimum = bounds.minimum;
  const auto found = run(scan, solver(scan, parameters));
  EXPECT_LT(difference(found.output, with), 1e-4);
}

TEST(SolverInvariants, ConjugateGradientsGrowAndAreThoseOfLsqr) {
  double before = 0;
  for (int k = 1; k <= 7; ++k) {
    const auto x = found_by(cone(), "cgls", k);
    const auto y = found_by(cone(), "lsqr", k);
    EXPECT_LT(difference(y.output, vector_of(x.output)), 2e-4) << k;
    EXPECT_NEAR(y.scalars.at("residual"), x.scalars.at("residual"), 1e-4 * x.scalars.at("residual"));
    EXPECT_NEAR(y.scalars.at("gradient"), x.scalars.at("gradient"), 5e-3 * x.scalars.at("gradient"));
    EXPECT_GT(norm(vector_of(x.output)), before);
    before = norm(vector_of(x.output));
  }
  const auto ended = run(cone(), solver(cone(), {.method = "lsqr", .passes = 200, .tolerance = 1e-2}));
  EXPECT_EQ(ended.stopped_by, StoppedBy::method);
}

TEST(SolverInvariants, FirstIteratesOfSirtAndMlemAreTheSame) {
  for (const Scan* scan : {&cone(), &parallel()}) {
    const auto x = found_by(*scan, "sirt", 1);
    const auto y = found_by(*scan, "mlem", 1);
    EXPECT_LT(difference(y.output, vector_of(x.output)), 1e-6);
  }
}

TEST(SolverInvariants, OneSubsetIsSirt) {
  const auto x = run(cone(), solver(cone(), {.method = "sirt", .passes = 5, .relaxation = 1.2}));
  const auto y = run(cone(), solver(cone(), {.method = "os-sart", .passes = 5, .relaxation = 1.2}));
  EXPECT_TRUE(y.output.voxels == x.output.voxels);
  EXPECT_EQ(y.scalars.at("residual"), x.scalars.at("residual"));
}

TEST(SolverInvariants, MlemKeepsTheCount) {
  for (const Scan* all : {&cone(), &parallel()}) {
    Scan scan = *all;
    scan.b.voxels[scan.b.voxels.size() / 2] = -3;  // counts as 0
    const Vector lengths = scan.A.row_sums(), sums = scan.A.column_sums();
    double count = 0;
    for (std::size_t n = 0; n < lengths.size(); ++n)
      if (lengths[n] > 0) count += std::max(0.0f, scan.b.voxels[n]);
    Vector b = vector_of(scan.b);
    for (double& each : b) each = std::max(0.0, each);
    double before = HUGE_VAL;
    for (const int k : {1, 2, 10}) {
      const auto x = found_by(scan, "mlem", k);
      EXPECT_NEAR(dot(sums, vector_of(x.output)), count, 1e-5 * count) << k;
      EXPECT_GE(*std::min_element(x.output.voxels.begin(), x.output.voxels.end()), 0);
      const double divergence = reference::kullback_leibler(b, scan.A.times(vector_of(x.output)));
      EXPECT_LT(divergence, before) << k;
      before = divergence;
    }
  }
}

TEST(SolverInvariants, VoxelsThatNoRayMeetsAreNothing) {
  auto scene = reference::scene_named("cone");
  scene.projections = reference::detector(3, 5, 9, 1.5, 1.25);  // sees the middle alone
  const Scan scan(scene, 4);
  const Vector sums = scan.A.column_sums();
  ASSERT_GT(std::count(sums.begin(), sums.end(), 0.0), 100);
  for (const char* method : {"sirt", "nesterov", "os-sart", "osem", "mlem"}) {
    const auto x = found_by(scan, method, 2).output.voxels;
    bool nothing = true, finite = true;
    for (std::size_t n = 0; n < x.size(); ++n) {
      nothing = nothing && (sums[n] > 0 || x[n] == 0);
      finite = finite && std::isfinite(x[n]);
    }
    EXPECT_TRUE(nothing && finite) << method;
  }
}

TEST(SolverInvariants, NothingMeasuredIsNothing) {
  Scan scan = cone();
  std::fill(scan.b.voxels.begin(), scan.b.voxels.end(), 0.0f);
  Scan unweighted = cone();
  std::fill(unweighted.w.voxels.begin(), unweighted.w.voxels.end(), 0.0f);
  for (const Scan* each : {&scan, &unweighted})
    for (const char* method : {"nesterov", "cgls", "lsqr"})
      EXPECT_THAT(found_by(*each, method, 3, {.weights = true}).output.voxels, testing::Each(0.0f));
  for (const char* method : {"mlem", "os-sart"})
    EXPECT_THAT(found_by(scan, method, 3).output.voxels, testing::Each(0.0f));
}

TEST(SolverInvariants, SubsetsAndMomentumGoOnFromEveryState) {
  const Scan scan(reference::scene_named("cone"), 4);
  for (const char* method : {"os-sart", "osem"})
    expect_same_bits_resumed(
        [&](const auto& devices, const auto& options) {
          return run(scan, solver(scan, {.method = method, .passes = 2}), devices, options);
        },
        7);
  const GivenInputs start{.start = true}, weights{.weights = true};
  for (const auto& [method, given] :
       {std::pair{"nesterov", start}, {"nesterov", weights}, {"mlem", {}}, {"lsqr", weights}})
    expect_same_bits_resumed(
        [&, m = method, g = given](const auto& devices, const auto& options) {
          return run(cone(), solver(cone(), {.method = m, .passes = 8}, g), devices, options);
        },
        7);
}

TEST(SolverInvariants, AreStreamedWhereTheDeviceIsSmall) {
  const Scan scan(reference::scene_named("cone"), 4);
  const auto expect = [](const Scan& on, const ReconstructionParameters& parameters, const GivenInputs& given) {
    expect_same_bits_streamed(
        [&](const auto& devices, const auto& options) {
          return run(on, solver(on, parameters, given), devices, options);
        },
        0.2);
  };
  expect(scan, {.method = "os-sart", .passes = 2}, {});
  expect(cone(), {.method = "nesterov", .passes = 3}, {.weights = true});
}

TEST(SolverErrors, NameTheParameter) {
  const RayOperator A(cone().scene.geometry, cone().scene.grid, cone().scene.projections, Projector::joseph,
                      device_models(reference::device()), {.voxel_driven = true});
  const auto message = [&](const ReconstructionParameters& parameters) -> std::string {
    try {
      solver_program(A, cone().subsets, parameters, {});
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  using testing::HasSubstr;
  EXPECT_THAT(message({.method = "nesterov", .passes = -1}), HasSubstr("`iterations` is -1; expected at least 1"));
  EXPECT_THAT(message({.method = "sirt", .relaxation = 2}),
              HasSubstr("`relaxation` is 2; expected a number between 0 and 2"));
  EXPECT_THAT(message({.method = "sirt", .relaxation = 0}), HasSubstr("`relaxation` is 0"));
  ReconstructionParameters swapped{.method = "nesterov"};
  swapped.regulariser.minimum = 1;
  swapped.regulariser.maximum = 0;
  EXPECT_THAT(message(swapped), HasSubstr("`minimum` is 1; expected a number below `maximum`, which is 0"));
  EXPECT_THAT(message({.method = "cgls", .tolerance = 1}), HasSubstr("`tolerance` is 1"));
  EXPECT_THAT(message({.method = "lsqr", .tolerance = -1}), HasSubstr("`tolerance` is -1"));
  for (const char* method : {"cgls", "lsqr", "nesterov", "spdhg", "fista"})
    EXPECT_THAT(message({.method = method, .lambda = solver_method(method).penalty ? 1.0 : 0.0}),
                testing::AllOf(HasSubstr("the back-projection for "), HasSubstr("expected the exact adjoint")));
}

}  // namespace
}  // namespace halocline::solver_invariants_test
