// labels: device
#include "algorithms/denoisers/spdu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "scheduling/execution/program_run.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/case_name.hpp"
#include "tests/support/noise_volumes.hpp"

namespace halocline::spdu_test {
namespace {

using reference::grid_of;
using reference::image_of;
using reference::lattice_of;
using reference::weights_with_holes;

struct Outcome {
  Volume u;
  std::vector<IterationRecord> history;
};

float largest(const Volume& w) {
  return *std::max_element(w.voxels.begin(), w.voxels.end());
}

Outcome run(const Volume& f, const Volume& w, double lambda, int iterations, Schedule schedule = Schedule::standard,
            bool fp64 = true) {
  MethodParameters parameters;
  parameters.size = f.grid.size;
  parameters.spacing = f.grid.spacing;
  parameters.lambda = lambda;
  parameters.iterations = iterations;
  parameters.schedule = schedule;
  parameters.largest_weight = largest(w);
  parameters.variants.fp64 = fp64;
  Spdu method(parameters);
  auto result = run_program(method.program(), {{"f", &f}, {"w", &w}}, f.grid, open_devices({}));
  return {std::move(result.output), method.history()};
}

struct Case {
  std::array<std::size_t, 3> size;
  Schedule schedule;
};

class SpduReference : public testing::TestWithParam<Case> {};

TEST_P(SpduReference, ImageAndCertificateAreThoseOfTheDefinition) {
  const auto [size, schedule] = GetParam();
  const Volume f = noisy_step(size, {0.5, 0.8, 1.7}, 0.2), w = weights_with_holes(f.grid);
  const auto outcome = run(f, w, 0.1, 21, schedule);
  const auto exact = reference::primal_dual(lattice_of(f), image_of(f), image_of(w), 0.1, schedule, 21);
  const double amplified = schedule == Schedule::seed ? 100 : 1;
  for (std::size_t n = 0; n < exact.u.size(); ++n) {
    ASSERT_NEAR(outcome.u.voxels[n], exact.u[n], 5e-6 * amplified) << n;
    if (w.voxels[n] == 0) {
      ASSERT_EQ(outcome.u.voxels[n], f.voxels[n]) << n;
    }
  }
  const auto& last = outcome.history.back();
  EXPECT_NEAR(last.primal, exact.primal, 1e-5 * exact.primal + 1e-12);
  EXPECT_NEAR(last.gap, exact.primal - exact.dual, 1e-5 * exact.primal + 1e-12);
}

INSTANTIATE_TEST_SUITE_P(SizesAndSchedules, SpduReference,
                         testing::Values(Case{{1, 1, 9}, Schedule::standard}, Case{{93, 1, 7}, Schedule::standard},
                                         Case{{93, 7, 13}, Schedule::standard}, Case{{17, 37, 23}, Schedule::standard},
                                         Case{{17, 37, 23}, Schedule::seed}, Case{{17, 37, 23}, Schedule::zhu_chan},
                                         Case{{17, 37, 23}, Schedule::chambolle_pock}),
                         [](const auto& each) { return case_name(each.param); });

TEST(Spdu, GapBoundsTheWeightedDistanceToTheSolution) {
  const Volume f = noisy_step({14, 13, 12}, {1, 1, 2}, 0.2), w = weights_with_holes(f.grid);
  const auto solution = reference::primal_dual(lattice_of(f), image_of(f), image_of(w), 0.2, Schedule::standard, 4000);
  ASSERT_LT(solution.primal - solution.dual, 1e-7 * solution.primal);
  for (const int iterations : {10, 30, 100, 300}) {
    const auto outcome = run(f, w, 0.2, iterations);
    const auto& last = outcome.history.back();
    double distance2 = 0;
    for (std::size_t n = 0; n < w.voxels.size(); ++n)
      if (w.voxels[n] > 0) distance2 += std::pow(outcome.u.voxels[n] - solution.u[n], 2) / w.voxels[n];
    EXPECT_LE(distance2, 2 * last.gap) << iterations;
    EXPECT_GE(last.primal, solution.primal * (1 - 1e-6));
    EXPECT_LT(last.relative_gap, 1.0 / iterations);
  }
}

TEST(Spdu, WeightsOfOneGivePdu) {
  const Volume f = noisy_step({33, 20, 9}, {1, 0.5, 2}, 0.2), w(f.grid, 1);
  const auto weighted = run(f, w, 0.1, 30);
  MethodParameters parameters{.size = f.grid.size, .spacing = f.grid.spacing, .iterations = 30, .lambda = 0.1};
  Pdu method(parameters);
  const auto plain = run_program(method.program(), {{"f", &f}}, f.grid, open_devices({}));
  // s = 1 / (1 + 1) in the middle; on the far edge, where there is no neighbour ahead, there is no step either
  for (std::size_t n = 0; n < f.voxels.size(); ++n)
    ASSERT_NEAR(weighted.u.voxels[n], plain.output.voxels[n], 2e-6) << n;
  EXPECT_NEAR(weighted.history.back().gap, method.history().back().gap, 1e-5 * method.history().back().primal);
  EXPECT_NEAR(weighted.history.back().weighted_fidelity, weighted.history.back().fidelity, 1e-12);
}

TEST(Spdu, FloatPairsSumLikeDoubles) {
  const Volume f = noisy_step({70, 41, 5}, {1, 1, 2}, 0.2), w = weights_with_holes(f.grid);
  const auto a = run(f, w, 0.1, 30).history.back(), b = run(f, w, 0.1, 30, Schedule::standard, false).history.back();
  EXPECT_NEAR(a.primal, b.primal, 1e-7 * a.primal);
  EXPECT_NEAR(a.gap, b.gap, 1e-7 * a.primal);
  EXPECT_NEAR(a.weighted_fidelity, b.weighted_fidelity, 1e-6 * a.weighted_fidelity);
}

TEST(Spdu, NoisierVoxelsAreSmoothedMore) {
  const Volume w = reference::ramp_weights(32);
  const Volume f = reference::two_balls(32, 0.1, 3, &w);
  const auto outcome = run(f, w, 1.0 / 15, 100);
  // in the big ball, away from its edge and from the small one
  const auto change = [&](std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t k = 12; k < 20; ++k)
      for (std::size_t i = from; i < to; ++i) sum += std::pow(outcome.u.at(i, 22, k) - f.at(i, 22, k), 2);
    return std::sqrt(sum / 8 / static_cast<double>(to - from));
  };
  const double left = change(10, 13), right = change(20, 23);
  EXPECT_GT(right, 1.5 * left);
}

}  // namespace
}  // namespace halocline::spdu_test
