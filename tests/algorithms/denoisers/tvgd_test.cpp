// labels: device nightly
#include "algorithms/denoisers/tvgd.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "scheduling/execution/program_run.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/noise_volumes.hpp"
#include "tests/support/rms.hpp"

namespace halocline::tvgd_test {
namespace {

MethodParameters parameters_for(const Volume& f, int iterations, double step = 0.01) {
  return {.size = f.grid.size, .spacing = f.grid.spacing, .iterations = iterations, .step = step, .epsilon = 0.02};
}

struct Outcome {
  Volume u;
  int iterations;
  bool converged;
  std::vector<IterationRecord> history;
};

Outcome run(const Volume& f, const MethodParameters& parameters) {
  Tvgd method(parameters);
  auto result = run_program(method.program(), {{"f", &f}}, f.grid, open_devices({}));
  return {std::move(result.output), result.iterations, method.converged(), method.history()};
}

TEST(Tvgd, FollowsTheReference) {
  for (const bool gpu : {false, true})
    for (const auto& size : {std::array<std::size_t, 3>{1, 1, 9},
                             {7, 1, 1},
                             {1, 70, 1},
                             {93, 7, 13},
                             {17, 37, 23},
                             {1100, 3, 5},
                             {9, 40, 40}}) {
      const Volume f = noisy_step(size, {0.5, 0.8, 1.7});
      auto parameters = parameters_for(f, 9);
      parameters.variants.gpu = gpu;
      const auto outcome = run(f, parameters);
      const auto lattice = reference::lattice_of(f);
      const auto exact = reference::tv_descent(lattice, reference::image_of(f), 0.02, 0.01, 9);
      EXPECT_EQ(outcome.iterations, 9);
      EXPECT_TRUE(outcome.converged);
      for (std::size_t n = 0; n < exact.size(); ++n)
        ASSERT_NEAR(outcome.u.voxels[n], exact[n], 2e-5) << size[0] << " " << n;
      const double variation = reference::smoothed_variation(lattice, exact, 0.02);
      EXPECT_NEAR(outcome.history.back().total_variation, variation, 1e-4 * variation);
      EXPECT_EQ(outcome.history.size(), 10u);
    }
}

TEST(Tvgd, StepIsTheRmsChangeWhateverTheSize) {
  for (const auto& size : {std::array<std::size_t, 3>{93, 7, 1}, {20, 30, 40}}) {
    const Volume f = noisy_step(size);
    EXPECT_NEAR(rms(run(f, parameters_for(f, 1, 0.01)).u, f), 0.01, 1e-7);
    EXPECT_NEAR(rms(run(f, parameters_for(f, 1, 0.003)).u, f), 0.003, 1e-7);
  }
}

TEST(Tvgd, MeetsTheTargetWithoutPassingIt) {
  const Volume f = noisy_step({30, 31, 32});
  for (const double target : {0.003, 0.05, 0.0937}) {
    auto parameters = parameters_for(f, 500);
    parameters.target_rms = target;
    const auto outcome = run(f, parameters);
    EXPECT_TRUE(outcome.converged) << target;
    EXPECT_LT(outcome.iterations, 100);
    EXPECT_NEAR(rms(outcome.u, f), target, 2e-5 * target);
    for (const auto& record : outcome.history)
      EXPECT_LE(record.fidelity, target * std::sqrt(static_cast<double>(f.voxels.size())) * (1 + 1e-5));
    EXPECT_LT(outcome.history.back().total_variation, outcome.history.front().total_variation);
  }
}

TEST(Tvgd, UnreachedTargetIsSaid) {
  const Volume f = noisy_step({20, 20, 20});
  auto parameters = parameters_for(f, 4);
  parameters.target_rms = 0.09;
  const auto outcome = run(f, parameters);
  EXPECT_FALSE(outcome.converged);
  EXPECT_EQ(outcome.iterations, 4);
}

TEST(Tvgd, DenoisesTheTwoBalls) {
  const Volume f = reference::two_balls(48, 0.1), truth = reference::two_balls(48, 0);
  auto parameters = parameters_for(f, 500);
  parameters.epsilon = 0.005;
  parameters.target_rms = 0.1;
  const auto outcome = run(f, parameters);
  EXPECT_TRUE(outcome.converged);
  EXPECT_LT(rms(outcome.u, truth), 0.035);  // from 0.1
}

TEST(Tvgd, FlatVolumesStopAtOnce) {
  Grid grid{.size = {5, 6, 7}};
  const Volume f(grid, -2);
  const auto outcome = run(f, parameters_for(f, 50));
  EXPECT_EQ(outcome.iterations, 0);
  EXPECT_TRUE(outcome.converged);
  EXPECT_EQ(outcome.u.voxels, f.voxels);
}

TEST(Tvgd, FloatPairsSumLikeDoubles) {
  const Volume f = noisy_step({70, 41, 5});
  auto parameters = parameters_for(f, 10);
  const auto a = run(f, parameters);
  parameters.variants.fp64 = false;
  const auto b = run(f, parameters);
  for (std::size_t n = 0; n < f.voxels.size(); ++n) ASSERT_NEAR(a.u.voxels[n], b.u.voxels[n], 1e-6);
  EXPECT_NEAR(a.history.back().fidelity, b.history.back().fidelity, 1e-6 * a.history.back().fidelity);
}

}  // namespace
}  // namespace halocline::tvgd_test
