// labels: device
#include "algorithms/denoisers/spdu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "scheduling/execution/program_run.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/case_name.hpp"

namespace halocline::spdu_test {
namespace {

using reference::grid_of;
using reference::image_of;
using reference::lattice_of;
using reference::weights_with_holes;

// A step across x, and noise.
Volume noisy_step(const Grid& grid) {
  Volume volume(grid);
  std::mt19937 generator(11);
  std::normal_distribution<double> normal;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = static_cast<float>((3 * (n % grid.size[0]) > grid.size[0] ? 1 : 0) + 0.2 * normal(generator));
  return volume;
}

struct Outcome {
  Volume u;
  std::vector<IterationRecord> history;
};

float largest(const Volume& w) {
  return *std::max_element(w.voxels.begin(), w.voxels.end());
}

float least_positive(const Volume& w) {
  float least = largest(w);
  for (const float weight : w.voxels)
    if (weight > 0) least = std::min(least, weight);
  return least;
}

WeightCode code_of(const Volume& w, int bits) {
  return WeightCode(bits, least_positive(w), largest(w));
}

// The weights as a device has them.
Volume stored_weights(const Volume& w, int bits) {
  const WeightCode code = code_of(w, bits);
  Volume result(w.grid);
  for (std::size_t n = 0; n < w.voxels.size(); ++n) result.voxels[n] = code.stored(w.voxels[n]);
  return result;
}

Outcome run(const Volume& f, const Volume& w, double lambda, int iterations, Schedule schedule = Schedule::standard,
            bool fp64 = true, int weight_bits = 32, FusedForm form = {}) {
  MethodParameters parameters;
  parameters.size = f.grid.size;
  parameters.spacing = f.grid.spacing;
  parameters.lambda = lambda;
  parameters.iterations = iterations;
  parameters.schedule = schedule;
  parameters.least_weight = least_positive(w);
  parameters.largest_weight = largest(w);
  parameters.weight_bits = weight_bits;
  parameters.fused = form;
  parameters.variants.fp64 = fp64;
  Spdu method(parameters);
  auto result = run_program(method.program(), {{"f", &f}, {"w", &w}}, f.grid, open_devices({}));
  return {std::move(result.output), method.history()};
}

struct Case {
  std::array<std::size_t, 3> size;
  Schedule schedule;
  int weight_bits = 32;
  FusedForm form{};
};

class SpduReference : public testing::TestWithParam<Case> {};

TEST_P(SpduReference, ImageAndCertificateAreThoseOfTheDefinition) {
  const auto [size, schedule, bits, form] = GetParam();
  const Volume f = noisy_step(grid_of(size, {0.5, 0.8, 1.7})), w = weights_with_holes(f.grid);
  const auto outcome = run(f, w, 0.1, 21, schedule, true, bits, form);
  const auto exact =
      reference::primal_dual(lattice_of(f), image_of(f), image_of(stored_weights(w, bits)), 0.1, schedule, 21);
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

INSTANTIATE_TEST_SUITE_P(StoredWeights, SpduReference,
                         testing::Values(Case{{93, 7, 13}, Schedule::standard, 16},
                                         Case{{17, 37, 23}, Schedule::chambolle_pock, 16},
                                         Case{{36, 17, 9}, Schedule::standard, 16, {2, 32}}),
                         [](const auto& each) {
                           return case_name(each.param, "_" + std::to_string(each.param.weight_bits) + "_bits");
                         });

// The bound of WeightCode between the two solutions u, u', and 2 gap between each of them and what is found, all in the
// norm of 1 / w'; what the first gap bounds is in that of 1 / w. Halves of weights about 1e-6 have steps of 6e-8;
// lambda makes up for the small weights.
TEST(Spdu, StoredWeightsMoveTheSolutionByNoMoreThanTheirChangeSays) {
  const Volume f = noisy_step(grid_of({19, 14, 9}, {1, 0.5, 2}));
  Volume w = weights_with_holes(f.grid);
  for (float& weight : w.voxels) weight *= 1e-6f;
  const auto plain = run(f, w, 0.2e6, 2000), coded = run(f, w, 0.2e6, 2000, Schedule::standard, true, 16);
  const Volume stored = stored_weights(w, 16);
  const auto norm = [&](const Volume& a, const Volume& b) {
    double sum = 0;
    for (std::size_t n = 0; n < a.voxels.size(); ++n)
      if (stored.voxels[n] > 0) sum += std::pow(a.voxels[n] - b.voxels[n], 2) / stored.voxels[n];
    return std::sqrt(sum);
  };
  const double change = code_of(w, 16).largest_change();
  const double found = std::sqrt(2 * plain.history.back().gap / (1 - change)),
               found_coded = std::sqrt(2 * coded.history.back().gap);
  const double bound = change * (norm(plain.u, f) + found);
  EXPECT_LT(found + found_coded, bound / 3) << "not converged enough to say anything";
  const double distance = norm(plain.u, coded.u);
  EXPECT_LE(distance, bound + found + found_coded);
  EXPECT_GT(distance, 0);
}

TEST(Spdu, GapBoundsTheWeightedDistanceToTheSolution) {
  const Volume f = noisy_step(grid_of({14, 13, 12}, {1, 1, 2})), w = weights_with_holes(f.grid);
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
  const Volume f = noisy_step(grid_of({33, 20, 9}, {1, 0.5, 2})), w(f.grid, 1);
  const auto weighted = run(f, w, 0.1, 30);
  MethodParameters parameters;
  parameters.size = f.grid.size;
  parameters.spacing = f.grid.spacing;
  parameters.lambda = 0.1;
  parameters.iterations = 30;
  Pdu method(parameters);
  const auto plain = run_program(method.program(), {{"f", &f}}, f.grid, open_devices({}));
  // s = 1 / (1 + 1) in the middle; on the far edge, where there is no neighbour ahead, there is no step either
  for (std::size_t n = 0; n < f.voxels.size(); ++n)
    ASSERT_NEAR(weighted.u.voxels[n], plain.output.voxels[n], 2e-6) << n;
  EXPECT_NEAR(weighted.history.back().gap, method.history().back().gap, 1e-5 * method.history().back().primal);
  EXPECT_NEAR(weighted.history.back().weighted_fidelity, weighted.history.back().fidelity, 1e-12);
}

TEST(Spdu, FloatPairsSumLikeDoubles) {
  const Volume f = noisy_step(grid_of({70, 41, 5}, {1, 1, 2})), w = weights_with_holes(f.grid);
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
