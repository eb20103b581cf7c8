// labels: device slab error
// What the unregularised solvers keep, what they lower in every iteration, and known answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/solvers/cgls.hpp"
#include "algorithms/solvers/fista.hpp"
#include "algorithms/solvers/gradient.hpp"
#include "algorithms/solvers/landweber.hpp"
#include "algorithms/solvers/lsqr.hpp"
#include "algorithms/solvers/ml_tr.hpp"
#include "algorithms/solvers/os_sart.hpp"
#include "algorithms/solvers/osem.hpp"
#include "algorithms/solvers/pdhg.hpp"
#include "algorithms/solvers/sirt.hpp"
#include "algorithms/solvers/solver_steps.hpp"
#include "algorithms/solvers/spdhg.hpp"
#include "host/system/error.hpp"
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

std::vector<int> in_turn(int subsets) {
  std::vector<int> order(static_cast<std::size_t>(subsets));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

struct Known {
  int k;
  double landweber[2], four_subsets[2], views[2];  // ||b - A x|| / ||b||, RMS error
};

TEST(SolverInvariants, HaveTheKnownAnswersOfAParallelScan) {
  const auto scene = reference::small_parallel_scene();
  const Vector truth = reference::toft_phantom(scene.grid);
  const auto scan_of = [&](int subsets) {
    Scan scan(scene, subsets);
    const Vector b = scan.A.times(truth);
    std::copy(b.begin(), b.end(), scan.b.voxels.begin());
    return scan;
  };
  const auto judge = [&](const Scan& scan, const auto& solver, const double(&known)[2]) {
    const RunResult found = run(scan, solver);
    const Vector b = vector_of(scan.b), x = vector_of(found.output);
    const double residual = norm(minus(b, scan.A.times(x)));
    EXPECT_NEAR(residual / norm(b), known[0], 2e-5 * known[0]);
    EXPECT_NEAR(reference::rms_difference(x, truth), known[1], 2e-5 * known[1]);
    EXPECT_NEAR(found.scalars.at("residual"), residual, 1e-4 * residual);
  };
  const Scan all = scan_of(1), four = scan_of(4), each = scan_of(24);
  for (const Known& known :
       {Known{1, {2.86126807e-1, .147290816}, {1.65223389e-1, .114725066}, {1.47876860e-1, .0810267067}},
        Known{5, {1.67931673e-1, .115759221}, {5.77734721e-2, .0731388176}, {2.83329418e-2, .0485793069}},
        Known{20, {6.93538027e-2, .0793453845}, {1.49357304e-2, .0516321653}, {3.89760183e-3, .0428252834}}}) {
    SCOPED_TRACE(known.k);
    judge(
        all, [&](const RayOperator& A) { return landweber(A, {.iterations = known.k, .relaxation = norm_margin}); },
        known.landweber);
    for (const auto& [scan, values] : {std::pair{&four, &known.four_subsets}, {&each, &known.views}})
      judge(
          *scan,
          [&](const RayOperator& A) {
            return os_sart(A, scan->subsets, {.passes = known.k, .order = in_turn(scan->subsets.count())});
          },
          *values);
  }
  judge(all, [](const RayOperator& A) { return mlem(A, {.iterations = 10}); }, {7.48012536e-2, .0694823562});
  judge(all, [](const RayOperator& A) { return mlem(A, {.iterations = 50}); }, {1.83210444e-2, .0231971005});
}

TEST(SolverInvariants, NormIsFoundToOnePerCent) {
  for (const Scan* scan : {&cone(), &parallel()})
    for (const bool weights : {false, true}) {
      const double found = run(*scan, [&](const RayOperator& A) {
                             return landweber(A, {.iterations = 1, .weights = weights});
                           }).scalars.at("norm");
      const double expected = scan->problem(weights, 0).squared_norm(3000);
      EXPECT_LE(found, expected * (1 + 1e-6));
      EXPECT_GE(found, 0.99 * expected);
    }
}

// The scalar after 1 to 12 iterations.
std::vector<double> history(const Scan& scan, const char* scalar,
                            const std::function<Program(const RayOperator&, int iterations)>& solver) {
  std::vector<double> values;
  for (int n = 1; n <= 12; ++n)
    values.push_back(run(scan, [&](const RayOperator& A) { return solver(A, n); }).scalars.at(scalar));
  return values;
}

void expect_falling(const std::vector<double>& values, double tolerance = 0) {
  for (std::size_t n = 1; n < values.size(); ++n)
    EXPECT_LT(values[n], values[n - 1] * (1 + tolerance)) << "after " << n + 1;
}

TEST(SolverInvariants, ResidualsAndDivergencesFallInEveryIteration) {
  for (const Scan* scan : {&cone(), &parallel()}) {
    expect_falling(history(*scan, "residual", [](const RayOperator& A, int n) {
      return landweber(A, {.iterations = n, .relaxation = 1.9, .weights = true});
    }));
    expect_falling(history(*scan, "residual", [](const RayOperator& A, int n) {
      return gradient(A, {.iterations = n, .momentum = false, .bounds = {0.1, 0.6}, .weights = true});
    }));
    expect_falling(history(*scan, "residual",
                           [](const RayOperator& A, int n) { return cgls(A, {.iterations = n, .weights = true}); }));
    expect_falling(history(*scan, "residual", [](const RayOperator& A, int n) { return lsqr(A, {.iterations = n}); }));
    expect_falling(
        history(*scan, "likelihood", [](const RayOperator& A, int n) { return mlem(A, {.iterations = n}); }));
  }
}

TEST(SolverInvariants, TransmissionLikelihoodRises) {
  Scan scan = cone();
  for (float& each : scan.b.voxels) each *= 0.1f;  // line integrals of up to 2
  const auto found = history(scan, "likelihood", [](const RayOperator& A, int n) {
    return ml_tr(A, {.iterations = n, .bounds = {.minimum = 0}, .weights = true});
  });
  expect_falling(found);
  Vector expected = scan.A.times(reference::ml_tr(scan.problem(true, 0), 12, 1, {.minimum = 0}));
  Vector measured = vector_of(scan.b);
  for (std::size_t n = 0; n < expected.size(); ++n) {
    expected[n] = scan.w.voxels[n] * std::exp(-expected[n]);
    measured[n] = scan.w.voxels[n] * std::exp(-measured[n]);
  }
  EXPECT_NEAR(found.back(), reference::kullback_leibler(measured, expected), 1e-4 * found.back());
}

TEST(SolverInvariants, AcceleratedGradientKeepsItsBound) {
  Scan scan = cone();
  const Vector truth = vector_of(reference::random_volume(scan.scene.grid, 11)), b = scan.A.times(truth);
  std::copy(b.begin(), b.end(), scan.b.voxels.begin());
  const Vector d = scan.A.transposed_times(scan.A.row_sums());
  const double distance = dot(truth, product(d, truth));  // ||0 - x*||_d^2
  for (const int k : {1, 5, 20, 60})
    for (const bool restart : {false, true}) {
      const double residual = run(scan, [&](const RayOperator& A) {
                                return gradient(A, {.iterations = k, .restart = restart});
                              }).scalars.at("residual");
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
  const auto found = run(scan, [&](const RayOperator& A) { return gradient(A, {.iterations = 15, .bounds = bounds}); });
  EXPECT_LT(difference(found.output, with), 1e-4);
}

TEST(SolverInvariants, ConjugateGradientsGrowAndAreThoseOfLsqr) {
  double before = 0;
  for (int k = 1; k <= 7; ++k) {
    const auto x = run(cone(), [&](const RayOperator& A) { return cgls(A, {.iterations = k}); });
    const auto y = run(cone(), [&](const RayOperator& A) { return lsqr(A, {.iterations = k}); });
    EXPECT_LT(difference(y.output, vector_of(x.output)), 2e-4) << k;
    EXPECT_NEAR(y.scalars.at("residual"), x.scalars.at("residual"), 1e-4 * x.scalars.at("residual"));
    EXPECT_NEAR(y.scalars.at("gradient"), x.scalars.at("gradient"), 5e-3 * x.scalars.at("gradient"));
    EXPECT_GT(norm(vector_of(x.output)), before);
    before = norm(vector_of(x.output));
  }
  const auto ended = run(cone(), [](const RayOperator& A) { return lsqr(A, {.iterations = 200, .tolerance = 1e-2}); });
  EXPECT_EQ(ended.stopped_by, StoppedBy::method);
}

TEST(SolverInvariants, FirstIteratesOfSirtAndMlemAreTheSame) {
  for (const Scan* scan : {&cone(), &parallel()}) {
    const auto x = run(*scan, [](const RayOperator& A) { return sirt(A, {.iterations = 1}); });
    const auto y = run(*scan, [](const RayOperator& A) { return mlem(A, {.iterations = 1}); });
    EXPECT_LT(difference(y.output, vector_of(x.output)), 1e-6);
  }
}

TEST(SolverInvariants, OneSubsetIsSirt) {
  const auto x = run(cone(), [](const RayOperator& A) { return sirt(A, {.iterations = 5, .relaxation = 1.2}); });
  const auto y =
      run(cone(), [](const RayOperator& A) { return os_sart(A, cone().subsets, {.passes = 5, .relaxation = 1.2}); });
  EXPECT_TRUE(y.output.voxels == x.output.voxels);
  EXPECT_EQ(y.scalars.at("residual"), x.scalars.at("residual"));
}

TEST(SolverInvariants, KeptSumsChangeNoBit) {
  const Scan scan(reference::scene_named("cone_tilted"), 4);
  const auto with = [&](bool keep) {
    return std::pair{
        run(scan, [&](const RayOperator& A) { return os_sart(A, scan.subsets, {.passes = 2, .keep_sums = keep}); }),
        run(scan, [&](const RayOperator& A) { return osem(A, scan.subsets, {.passes = 2, .keep_sums = keep}); })};
  };
  const auto [x, u] = with(false);
  const auto [y, v] = with(true);
  EXPECT_TRUE(x.output.voxels == y.output.voxels);
  EXPECT_TRUE(u.output.voxels == v.output.voxels);
}

TEST(SolverInvariants, MlemKeepsTheCount) {
  for (const Scan* all : {&cone(), &parallel()}) {
    Scan scan = *all;
    scan.b.voxels[scan.b.voxels.size() / 2] = -3;  // counts as 0
    const Vector lengths = scan.A.row_sums(), sums = scan.A.column_sums();
    double count = 0;
    for (std::size_t n = 0; n < lengths.size(); ++n)
      if (lengths[n] > 0) count += std::max(0.0f, scan.b.voxels[n]);
    for (const int k : {1, 2, 10}) {
      const auto x = run(scan, [&](const RayOperator& A) { return mlem(A, {.iterations = k}); });
      EXPECT_NEAR(dot(sums, vector_of(x.output)), count, 1e-5 * count) << k;
      EXPECT_GE(*std::min_element(x.output.voxels.begin(), x.output.voxels.end()), 0);
      Vector b = vector_of(scan.b);
      for (double& each : b) each = std::max(0.0, each);
      const double divergence = reference::kullback_leibler(b, scan.A.times(vector_of(x.output)));
      EXPECT_NEAR(x.scalars.at("likelihood"), divergence, 1e-4 * divergence);
    }
  }
}

TEST(SolverInvariants, VoxelsThatNoRayMeetsAreNothing) {
  auto scene = reference::scene_named("cone");
  scene.projections = reference::detector(3, 5, 9, 1.5, 1.25);  // sees the middle alone
  const Scan scan(scene, 4);
  const Vector sums = scan.A.column_sums();
  ASSERT_GT(std::count(sums.begin(), sums.end(), 0.0), 100);
  const auto expect = [&](const char* name, const auto& solver) {
    const auto x = run(scan, solver).output.voxels;
    bool nothing = true, finite = true;
    for (std::size_t n = 0; n < x.size(); ++n) {
      nothing = nothing && (sums[n] > 0 || x[n] == 0);
      finite = finite && std::isfinite(x[n]);
    }
    EXPECT_TRUE(nothing && finite) << name;
  };
  expect("landweber", [](const RayOperator& A) { return landweber(A, {.iterations = 3}); });
  expect("gradient", [](const RayOperator& A) { return gradient(A, {.iterations = 3}); });
  expect("os_sart", [&](const RayOperator& A) { return os_sart(A, scan.subsets, {.passes = 2}); });
  expect("osem", [&](const RayOperator& A) { return osem(A, scan.subsets, {.passes = 2}); });
  expect("mlem", [](const RayOperator& A) { return mlem(A, {.iterations = 3}); });
  expect("ml_tr", [](const RayOperator& A) { return ml_tr(A, {.iterations = 3}); });
}

TEST(SolverInvariants, NothingMeasuredIsNothing) {
  Scan scan = cone();
  std::fill(scan.b.voxels.begin(), scan.b.voxels.end(), 0.0f);
  Scan unweighted = cone();
  std::fill(unweighted.w.voxels.begin(), unweighted.w.voxels.end(), 0.0f);
  const auto expect_nothing = [](const Scan& each, const auto& solver) {
    EXPECT_THAT(run(each, solver).output.voxels, testing::Each(0.0f));
  };
  for (const Scan* each : {&scan, &unweighted}) {
    expect_nothing(*each, [](const RayOperator& A) { return landweber(A, {.iterations = 3, .weights = true}); });
    expect_nothing(*each, [](const RayOperator& A) { return gradient(A, {.iterations = 3, .weights = true}); });
    expect_nothing(*each, [](const RayOperator& A) { return cgls(A, {.iterations = 3, .weights = true}); });
    expect_nothing(*each, [](const RayOperator& A) { return lsqr(A, {.iterations = 3, .weights = true}); });
    expect_nothing(*each, [](const RayOperator& A) { return ml_tr(A, {.iterations = 3, .weights = true}); });
  }
  expect_nothing(scan, [](const RayOperator& A) { return mlem(A, {.iterations = 3}); });
  expect_nothing(scan, [](const RayOperator& A) { return os_sart(A, cone().subsets, {.passes = 3}); });
}

TEST(SolverInvariants, SubsetsAndMomentumGoOnFromEveryState) {
  const Scan scan(reference::scene_named("cone"), 4);
  const std::vector<std::function<Program(const RayOperator&)>> solvers{
      [&](const RayOperator& A) { return os_sart(A, scan.subsets, {.passes = 2}); },
      [&](const RayOperator& A) { return os_sart(A, scan.subsets, {.passes = 2, .keep_sums = true}); },
      [&](const RayOperator& A) { return osem(A, scan.subsets, {.passes = 2}); },
      [](const RayOperator& A) { return gradient(A, {.iterations = 8, .from_start = true}); },
      [](const RayOperator& A) { return gradient(A, {.iterations = 8, .momentum = false, .weights = true}); },
      [](const RayOperator& A) { return landweber(A, {.iterations = 8, .weights = true}); },
      [](const RayOperator& A) { return mlem(A, {.iterations = 8}); },
      [](const RayOperator& A) { return ml_tr(A, {.iterations = 8}); },
      [](const RayOperator& A) { return lsqr(A, {.iterations = 8, .weights = true}); }};
  for (const auto& solver : solvers)
    expect_same_bits_resumed(
        [&](const auto& devices, const auto& options) { return run(scan, solver, devices, options); }, 7);
}

TEST(SolverInvariants, AreStreamedWhereTheDeviceIsSmall) {
  const Scan scan(reference::scene_named("cone"), 4);
  const std::vector<std::function<Program(const RayOperator&)>> solvers{
      [&](const RayOperator& A) { return os_sart(A, scan.subsets, {.passes = 2}); },
      [](const RayOperator& A) { return gradient(A, {.iterations = 3, .weights = true}); },
      [](const RayOperator& A) { return ml_tr(A, {.iterations = 3}); }};
  for (const auto& solver : solvers)
    expect_same_bits_streamed(
        [&](const auto& devices, const auto& options) { return run(scan, solver, devices, options); }, 0.2);
}

TEST(SolverErrors, NameTheParameter) {
  const auto message = [](const std::function<Program(const RayOperator&)>& solver) -> std::string {
    try {
      run(cone(), solver);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  using testing::HasSubstr;
  EXPECT_THAT(message([](const auto& A) { return landweber(A, {.iterations = 0}); }),
              HasSubstr("`iterations` is 0; expected at least 1"));
  EXPECT_THAT(message([](const auto& A) { return landweber(A, {.relaxation = 2}); }),
              HasSubstr("`relaxation` is 2; expected a number between 0 and 2"));
  EXPECT_THAT(message([](const auto& A) {
                return gradient(A, {.bounds = {1, 0}});
              }),
              HasSubstr("`minimum` is 1; expected a number below `maximum`, which is 0"));
  EXPECT_THAT(message([](const auto& A) { return gradient(A, {.bounds = {NAN, 0}}); }), HasSubstr("`minimum` is nan"));
  EXPECT_THAT(message([](const auto& A) { return cgls(A, {.tolerance = 1}); }), HasSubstr("`tolerance` is 1"));
  EXPECT_THAT(message([](const auto& A) { return lsqr(A, {.tolerance = -1}); }), HasSubstr("`tolerance` is -1"));
  EXPECT_THAT(message([](const auto& A) { return ml_tr(A, {.relaxation = 0}); }), HasSubstr("`relaxation` is 0"));
  EXPECT_THAT(message([](const auto& A) { return mlem(A, {.iterations = -1}); }), HasSubstr("`iterations` is -1"));
  const RayOperator unmatched(cone().scene.geometry, cone().scene.grid, cone().scene.projections, Projector::joseph,
                              device_models(reference::device()), {.voxel_driven = true});
  const ViewSubsets subsets(9, 3);
  for (const auto& solver : std::vector<std::function<Program(const RayOperator&)>>{
           [](const auto& A) { return cgls(A, {}); }, [](const auto& A) { return lsqr(A, {}); },
           [](const auto& A) { return landweber(A, {}); }, [](const auto& A) { return gradient(A, {}); },
           [&](const auto& A) { return spdhg(A, subsets, {.lambda = 1, .regulariser = {.minimum = 0}}, {}); },
           [&](const auto& A) { return fista(A, subsets, {.lambda = 1, .regulariser = {.minimum = 0}}, {}); },
           [&](const auto& A) { return pdhg(A, {.lambda = 1, .regulariser = {.minimum = 0}}, {}); }})
    EXPECT_THAT(message([&](const auto&) { return solver(unmatched); }),
                testing::AllOf(HasSubstr("the back-projection for "), HasSubstr("expected the exact adjoint")));
  EXPECT_THAT(message([&](const auto& A) { return os_sart(A, subsets, {.passes = 0}); }), HasSubstr("`passes` is 0"));
  EXPECT_THAT(message([&](const auto& A) {
                return osem(A, subsets, {.order = {0, 1, 1}});
              }),
              HasSubstr("the order of the subsets is 0, 1, 1; expected each of the subsets 0 to 2 once"));
}

}  // namespace
}  // namespace halocline::solver_invariants_test
