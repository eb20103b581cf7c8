// labels: device dealt
#include "algorithms/denoisers/tvgd_variant.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "scheduling/execution/program_run.hpp"
#include "tests/reference/variant_reference.hpp"
#include "tests/support/noise_volumes.hpp"
#include "tests/support/rms.hpp"

namespace halocline::tvgd_variant_test {
namespace {

// Weights from about 0.3 to 3, every seventh 0.
Volume weights_with_holes(const Grid& grid) {
  Volume w(grid);
  std::mt19937 generator(24);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::size_t n = 0; n < w.voxels.size(); ++n) w.voxels[n] = n % 7 == 3 ? 0 : std::pow(3.0f, uniform(generator));
  return w;
}

MethodParameters parameters_for(const Volume& f, int iterations, const reference::NamedDescent& descent = {},
                                double step = 0.01) {
  MethodParameters parameters;
  parameters.size = f.grid.size;
  parameters.spacing = f.grid.spacing;
  parameters.iterations = iterations;
  parameters.step = step;
  parameters.epsilon = 0.02;
  descent.put_into(parameters);
  return parameters;
}

struct Outcome {
  Volume u;
  int iterations;
  bool converged, stalled;
  std::vector<IterationRecord> history;
};

Outcome outcome_of(Tvgd& method, const Volume& f, const Volume* w, const RunOptions& options = {}) {
  std::map<std::string, const Volume*> inputs{{"f", &f}};
  if (w != nullptr) inputs["w"] = w;
  auto result = run_program(method.program(), inputs, f.grid, open_devices({}), options);
  return {std::move(result.output), result.iterations, method.converged(), method.stalled(), method.history()};
}

Outcome run(const Volume& f, const Volume& w, const MethodParameters& parameters, const RunOptions& options = {}) {
  TvgdVariant method(parameters);
  return outcome_of(method, f, parameters.statistical ? &w : nullptr, options);
}

Outcome run_plain(const Volume& f, const MethodParameters& parameters) {
  Tvgd method(parameters);
  return outcome_of(method, f, nullptr);
}

// RMS difference over the voxels for which `counts`.
template <class Counts>
double rms_where(const Volume& a, const Volume& b, const Counts& counts) {
  double sum = 0, number = 0;
  for (std::size_t n = 0; n < a.voxels.size(); ++n) {
    if (!counts(n)) continue;
    sum += std::pow(a.voxels[n] - b.voxels[n], 2);
    ++number;
  }
  return std::sqrt(sum / number);
}

class Variants : public testing::TestWithParam<reference::NamedDescent> {};

INSTANTIATE_TEST_SUITE_P(TvgdVariant, Variants, testing::ValuesIn(reference::descents()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Variants, FollowTheReference) {
  for (const bool gpu : {false, true})
    for (const auto& size : {std::array<std::size_t, 3>{1, 1, 9},
                             {7, 1, 1},
                             {1, 70, 1},
                             {93, 7, 13},
                             {17, 37, 23},
                             {1100, 3, 5},
                             {9, 40, 40},
                             {31, 32, 15},
                             {32, 33, 16},
                             {63, 65, 31}}) {
      const Volume f = noisy_step(size, {0.5, 0.8, 1.7}), w = weights_with_holes(f.grid);
      auto parameters = parameters_for(f, 9, GetParam());
      parameters.variants.gpu = gpu;
      const auto outcome = run(f, w, parameters);
      const auto lattice = reference::lattice_of(f);
      reference::DescentVariant variant;
      if (parameters.adaptive_delta) variant.delta = *parameters.adaptive_delta;
      if (parameters.statistical) variant.w = reference::image_of(w);
      const auto exact = reference::tv_descent(lattice, reference::image_of(f), 0.02, 0.01, 9, variant);
      EXPECT_EQ(outcome.iterations, 9);
      EXPECT_TRUE(outcome.converged);
      for (std::size_t n = 0; n < exact.size(); ++n)
        ASSERT_NEAR(outcome.u.voxels[n], exact[n], 2e-5) << size[0] << " " << n;
      const double variation =
          reference::smoothed_variation(lattice, exact, 0.02, adaptive_weights(lattice, exact, variant.delta));
      EXPECT_NEAR(outcome.history.back().total_variation, variation, 1e-4 * variation);
      EXPECT_EQ(outcome.history.size(), 10u);
    }
}

TEST_P(Variants, OfManySlabsEqualOneToTheBit) {
  const Volume f = noisy_step({63, 35, 47}, {0.5, 0.8, 1.7}), w = weights_with_holes(f.grid);
  for (const bool gpu : {false, true}) {
    auto parameters = parameters_for(f, 9, GetParam());
    parameters.variants.gpu = gpu;
    const auto whole = run(f, w, parameters);
    for (const int slabs : {2, 5}) {
      const auto split = run(f, w, parameters, {.plan = {.minimum_slabs = slabs}});
      EXPECT_EQ(split.u.voxels, whole.u.voxels) << gpu << " " << slabs;
      EXPECT_EQ(split.history.back().total_variation, whole.history.back().total_variation);
      EXPECT_EQ(split.history.back().fidelity, whole.history.back().fidelity);
    }
  }
}

TEST_P(Variants, StepIsTheRmsChangeOfTheWholeVolume) {
  for (const auto& size : {std::array<std::size_t, 3>{93, 7, 1}, {20, 30, 40}}) {
    const Volume f = noisy_step(size), w = weights_with_holes(f.grid);
    for (const double step : {0.01, 0.003})
      EXPECT_NEAR(rms(run(f, w, parameters_for(f, 1, GetParam(), step)).u, f), step, 1e-7);
  }
}

TEST_P(Variants, MeetTheTargetWithoutPassingIt) {
  const Volume f = noisy_step({30, 31, 32}), w = weights_with_holes(f.grid);
  for (const double target : {0.003, 0.05, 0.083}) {
    auto parameters = parameters_for(f, 500, GetParam());
    parameters.target_rms = target;
    const auto outcome = run(f, w, parameters);
    EXPECT_TRUE(outcome.converged) << target;
    EXPECT_LT(outcome.iterations, 100);
    EXPECT_NEAR(rms(outcome.u, f), target, 2e-5 * target);
    for (const auto& record : outcome.history)
      EXPECT_LE(record.fidelity, target * std::sqrt(static_cast<double>(f.voxels.size())) * (1 + 1e-5));
  }
}

TEST_P(Variants, FloatPairsSumLikeDoubles) {
  const Volume f = noisy_step({70, 41, 5}), w = weights_with_holes(f.grid);
  auto parameters = parameters_for(f, 10, GetParam());
  const auto a = run(f, w, parameters);
  parameters.variants.fp64 = false;
  const auto b = run(f, w, parameters);
  for (std::size_t n = 0; n < f.voxels.size(); ++n) ASSERT_NEAR(a.u.voxels[n], b.u.voxels[n], 1e-6);
  EXPECT_NEAR(a.history.back().fidelity, b.history.back().fidelity, 1e-6 * a.history.back().fidelity);
}

TEST_P(Variants, FlatVolumesStopAtOnce) {
  Grid grid{.size = {5, 6, 7}};
  const Volume f(grid, -2), w(grid, 1);
  const auto outcome = run(f, w, parameters_for(f, 50, GetParam()));
  EXPECT_EQ(outcome.iterations, 0);
  EXPECT_TRUE(outcome.converged);
  EXPECT_EQ(outcome.u.voxels, f.voxels);
}

// Parameters without effect: only rounding is left between the variant and other kernels, of both up to the 2e-5 that
// they may be away from the reference.
TEST(TvgdVariant, WithoutEffectItIsThePlainDescent) {
  const Volume f = noisy_step({37, 29, 11}, {0.5, 0.8, 1.7}), one(f.grid, 1);
  const auto plain = run_plain(f, parameters_for(f, 9));
  for (const auto& descent : {reference::NamedDescent{"", 1e6, false}, {"", std::nullopt, true}, {"", 1e30, true}}) {
    const auto outcome = run(f, one, parameters_for(f, 9, descent));
    for (std::size_t n = 0; n < f.voxels.size(); ++n) ASSERT_NEAR(outcome.u.voxels[n], plain.u.voxels[n], 4e-5) << n;
    EXPECT_NEAR(outcome.history.back().total_variation, plain.history.back().total_variation,
                1e-4 * plain.history.back().total_variation);
    EXPECT_NEAR(outcome.history.back().fidelity, plain.history.back().fidelity, 1e-4 * plain.history.back().fidelity);
  }
}

TEST(TvgdVariant, VoxelsWithoutWeightStayToTheBit) {
  const Volume f = noisy_step({20, 21, 22}), w = weights_with_holes(f.grid);
  Volume start = f;
  for (auto& value : start.voxels) value += 0.25f;
  RunOptions options;
  options.initial["u"] = &start;
  for (const bool given : {false, true})
    for (const bool gpu : {false, true}) {
      auto parameters = parameters_for(f, 12, {"", 0.4, true});
      parameters.variants.gpu = gpu;
      const auto outcome = run(f, w, parameters, given ? options : RunOptions{});
      std::size_t moved = 0;
      for (std::size_t n = 0; n < w.voxels.size(); ++n) {
        const float before = given ? start.voxels[n] : f.voxels[n];
        if (w.voxels[n] == 0) {
          ASSERT_EQ(outcome.u.voxels[n], before) << n;
        } else {
          moved += outcome.u.voxels[n] != before ? 1 : 0;
        }
      }
      EXPECT_GT(moved, w.voxels.size() / 2);
    }
}

// Two plates of two voxels, one ten times as strong as noise allows for an edge and one hardly stronger than it.
TEST(TvgdVariant, AdaptiveWeightsKeepTheStrongEdgeAndTakeAsMuchNoise) {
  constexpr std::size_t n = 32;
  constexpr double noise = 0.05;
  Grid grid{.size = {n, n, n}};
  Volume truth(grid), f(grid);
  std::mt19937 generator(25);
  std::normal_distribution<double> normal;
  const auto in_plate = [](std::size_t i, std::size_t first) { return i % n == first || i % n == first + 1; };
  for (std::size_t i = 0; i < truth.voxels.size(); ++i) {
    truth.voxels[i] = in_plate(i, 7) ? 1.0f : in_plate(i, 20) ? 0.15f : 0.0f;
    f.voxels[i] = static_cast<float>(truth.voxels[i] + noise * normal(generator));
  }
  // how much of a plate's height over what is beside it (three voxels away and more) is lost
  const auto lost = [&](const Volume& u, std::size_t first, double height) {
    double inside = 0, beside = 0;
    std::size_t voxels = 0, others = 0;
    for (std::size_t i = 0; i < u.voxels.size(); ++i) {
      if (in_plate(i, first)) inside += u.voxels[i], ++voxels;
      if (in_plate(i, first - 4) || in_plate(i, first + 4)) beside += u.voxels[i], ++others;
    }
    return height - inside / static_cast<double>(voxels) + beside / static_cast<double>(others);
  };
  auto parameters = parameters_for(f, 500, {}, 0.1 * noise);
  parameters.epsilon = 0.05 * noise;
  parameters.target_rms = noise;
  const auto plain = run_plain(f, parameters);
  parameters.adaptive_delta = 0.3;  // differences that noise makes: 0.07; edges: 1 and 0.15
  const auto adaptive = run(f, {}, parameters);
  ASSERT_TRUE(plain.converged && adaptive.converged);
  EXPECT_NEAR(rms(plain.u, f), rms(adaptive.u, f), 1e-4 * noise);
  EXPECT_GT(lost(plain.u, 7, 1), 0.02);
  EXPECT_LT(lost(adaptive.u, 7, 1), 0.2 * lost(plain.u, 7, 1));
  EXPECT_GT(lost(adaptive.u, 20, 0.15), 0.02);  // it is no edge to these weights
  EXPECT_LT(rms(adaptive.u, truth), rms(plain.u, truth));
}

// The right half has four times the noise.
TEST(TvgdVariant, StatisticalStepsSmoothTheNoisyHalfMore) {
  constexpr std::size_t n = 32;
  const Volume truth = reference::two_balls(n, 0);
  Volume f = truth, w(truth.grid);
  const auto noisy = [](std::size_t i) { return i % n >= n / 2; };
  const auto quiet = [&](std::size_t i) { return !noisy(i); };
  std::mt19937 generator(26);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < f.voxels.size(); ++i) {
    const double sigma = noisy(i) ? 0.2 : 0.05;
    f.voxels[i] = static_cast<float>(truth.voxels[i] + sigma * normal(generator));
    w.voxels[i] = static_cast<float>(sigma * sigma / 0.02125);  // the mean variance
  }
  auto parameters = parameters_for(f, 500, {}, 0.1 * std::sqrt(0.02125));
  parameters.epsilon = 0.05 * std::sqrt(0.02125);
  parameters.target_rms = std::sqrt(0.02125);
  const auto plain = run_plain(f, parameters);
  parameters.statistical = true;
  const auto statistical = run(f, w, parameters);
  ASSERT_TRUE(plain.converged && statistical.converged);
  EXPECT_NEAR(rms(plain.u, f), rms(statistical.u, f), 1e-4);
  // Both take as much in all; only steps proportional to the noise take from each half what it holds.
  EXPECT_NEAR(rms_where(statistical.u, f, noisy), 0.2, 0.002);
  EXPECT_NEAR(rms_where(statistical.u, f, quiet), 0.05, 0.002);
  EXPECT_GT(rms_where(plain.u, f, quiet), 0.06);
  // Away from edges less noise is left. (At edges of the noisy half it may be more: there more is taken.)
  const auto flat = [&](std::size_t i) {
    const std::size_t at[] = {i % n, i / n % n, i / n / n};
    for (const std::size_t c : at)
      if (c < 2 || c + 2 >= n) return false;
    for (int z = -2; z <= 2; ++z)
      for (int y = -2; y <= 2; ++y)
        for (int x = -2; x <= 2; ++x)
          if (truth.at(at[0] + x, at[1] + y, at[2] + z) != truth.voxels[i]) return false;
    return true;
  };
  const auto flat_noisy = [&](std::size_t i) { return noisy(i) && flat(i); };
  const auto flat_quiet = [&](std::size_t i) { return quiet(i) && flat(i); };
  EXPECT_LT(rms_where(statistical.u, truth, flat_noisy), 0.8 * rms_where(plain.u, truth, flat_noisy));
  EXPECT_LT(rms_where(statistical.u, truth, flat_quiet), 0.8 * rms_where(plain.u, truth, flat_quiet));
  EXPECT_LT(rms(statistical.u, truth), rms(plain.u, truth));
}

TEST(TvgdVariant, WhereAllAreEdgesTheDescentEnds) {
  Grid grid{.size = {9, 8, 7}};
  Volume f(grid);
  for (std::size_t n = 0; n < f.voxels.size(); ++n) f.voxels[n] = n % 9 < 4 ? 0.0f : 10.0f;
  // 1e-300: its inverse is no float
  for (const double delta : {1.0, 1e-300}) {
    auto parameters = parameters_for(f, 50, {"", delta, false});
    parameters.target_rms = 0.5;
    const auto outcome = run(f, {}, parameters);
    EXPECT_TRUE(outcome.stalled);
    EXPECT_FALSE(outcome.converged);
    EXPECT_EQ(outcome.iterations, 0);
    EXPECT_EQ(outcome.u.voxels, f.voxels);
  }
  const Volume noisy = noisy_step({9, 8, 7});
  for (const float value : run(noisy, {}, parameters_for(noisy, 5, {"", 1e-300, false})).u.voxels)
    EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace halocline::tvgd_variant_test
