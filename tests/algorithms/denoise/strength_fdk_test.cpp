// labels: device nightly
// Noise that went through FDK is no white noise: neighbours share it, and there is more of it in some places. Strengths
// chosen by split halves, by propagated variances and from the volume alone, against the best by search.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/fdk/half_scan.hpp"
#include "algorithms/noise/noise.hpp"
#include "algorithms/noise/noise_map.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/rms.hpp"

namespace halocline::strength_fdk_test {
namespace {

using reference::device;
using testing::HasSubstr;

constexpr std::size_t size = 64;

Volume sum_of(const Volume& a, double factor, const Volume& b) {
  Volume out = a;
  for (std::size_t n = 0; n < out.voxels.size(); ++n)
    out.voxels[n] = static_cast<float>(a.voxels[n] + factor * b.voxels[n]);
  return out;
}

/// A noisy scan, reconstructed from all, the odd and the even views. `streaks`: with the streaks of sparse views;
/// without them only the noise went through FDK and the object is true.
struct Scan {
  Volume truth, all, odd, even, variance;
};
Scan scan(PhantomType type, Window window, bool streaks, std::size_t views = 120, double photons = 2000) {
  const auto geometry = circular_geometry({.sid = 6 * size, .sdd = 9 * size, .projections = views});
  const Grid grid = default_grid({size, size, size}, {1, 1, 1});
  const double mu = (type == PhantomType::blade ? 5.5 : 4.0) / size;
  const Volume clean =
      project_analytic(phantom_primitives(type, size, mu), geometry,
                       reference::detector(size * 5 / 4, size * 5 / 4, static_cast<std::size_t>(views), 1.5, 1.5));
  Volume noisy = clean;
  add_noise(noisy, photons, 0, 1);
  FdkParameters parameters{.window = window};
  Scan out;
  out.truth = voxelise(type, grid, size, mu, 3);
  const Volume seen = streaks ? noisy : sum_of(noisy, -1, clean);
  const auto reconstructed = [&](const Geometry& from, const Volume& projections) {
    Volume volume = fdk(projections, from, grid, parameters, device()).output;
    return streaks ? volume : sum_of(volume, 1, out.truth);
  };
  const auto halves = half_scans(geometry);
  out.all = reconstructed(geometry, seen);
  out.odd = reconstructed(halves[0].geometry, select_views(seen, halves[0].views));
  out.even = reconstructed(halves[1].geometry, select_views(seen, halves[1].views));
  parameters.variance = FdkParameters::Noise{photons, 0};
  out.variance = fdk(noisy, geometry, grid, parameters, device()).output;
  return out;
}

struct Case {
  const char* name;
  PhantomType type;
  Window window;
  bool streaks;
  double alone;  // bound on what auto loses without halves and weights
};

class ThroughFdk : public testing::TestWithParam<Case> {};

TEST_P(ThroughFdk, HalvesComeNearTheBest) {
  const auto& c = GetParam();
  const Scan s = scan(c.type, c.window, c.streaks);
  EXPECT_LT(rms(sum_of(s.odd, 1, s.even), sum_of(s.all, 1, s.all)), 1e-5 * rms(s.all, Volume(s.all.grid)));
  const double noise = std::sqrt([&] {
    double sum = 0;
    for (const float value : s.variance.voxels) sum += value;
    return sum / static_cast<double>(s.variance.voxels.size());
  }());
  for (const bool weighted : {false, true}) {
    const Volume* weights = weighted ? &s.variance : nullptr;
    DenoiseParameters parameters{.method = weighted ? "spdu" : "pdu"};
    double best = std::numeric_limits<double>::infinity(), at = 0;
    for (double lambda = 0.25 * noise; lambda < 4 * noise; lambda *= std::exp2(1.0 / 3)) {
      parameters.alpha = 1 / lambda;
      const double error = rms(denoise(s.all, weights, parameters, device()).output, s.truth);
      if (error < best) best = error, at = lambda;
    }
    parameters.alpha = {};
    const auto loss = [&](const Volume* a, const Volume* b) {
      parameters.half_a = a;
      parameters.half_b = b;
      const auto result = denoise(s.all, weights, parameters, device());
      const double error = rms(result.output, s.truth) / best - 1;
      fmt::print("{} {}: lambda {:.3g}, best {:.3g}; RMSE {:+.2f} % [{}]\n", c.name, parameters.method, result.lambda,
                 at, 100 * error, result.alpha_choice);
      EXPECT_THAT(result.alpha_choice, HasSubstr(a != nullptr ? "split halves" : "Monte Carlo SURE"));
      return error;
    };
    EXPECT_LT(loss(&s.odd, &s.even), 0.05);
    EXPECT_LT(loss(nullptr, nullptr), weighted ? 0.05 : c.alone);
  }
}

INSTANTIATE_TEST_SUITE_P(Scans, ThroughFdk,
                         testing::Values(Case{"balls_ram_lak", PhantomType::two_balls, Window::ram_lak, false, 0.05},
                                         Case{"shepp_logan_hann", PhantomType::shepp_logan_hc, Window::hann, false,
                                              0.05},
                                         Case{"blade_ram_lak", PhantomType::blade, Window::ram_lak, false, 0.5},
                                         Case{"balls_hann_streaks", PhantomType::two_balls, Window::hann, true, 0.05},
                                         Case{"blade_ram_lak_streaks", PhantomType::blade, Window::ram_lak, true, 0.1}),
                         [](const auto& info) { return info.param.name; });

// Halves with few views differ by streaks more than noise, and most of these are not in the whole.
struct Sparse {
  const char* name;
  PhantomType type;
  int views;
  double loss;  // allowed, above the best
};
class SparseViews : public testing::TestWithParam<Sparse> {};

TEST_P(SparseViews, StreaksOfTheHalvesDoNotPassForNoise) {
  const auto& c = GetParam();
  const Scan s = scan(c.type, Window::ram_lak, true, c.views, 20000);
  DenoiseParameters parameters{.method = "pdu", .half_a = &s.odd, .half_b = &s.even};
  const auto chosen = denoise(s.all, nullptr, parameters, device());
  parameters.half_a = parameters.half_b = nullptr;
  double best = rms(chosen.output, s.truth);
  for (double factor = 0.25; factor < 2.5; factor *= std::exp2(1.0 / 4)) {
    parameters.alpha = 1 / (factor * chosen.lambda);
    best = std::min(best, rms(denoise(s.all, nullptr, parameters, device()).output, s.truth));
  }
  const double loss = rms(chosen.output, s.truth) / best - 1;
  fmt::print("{}: lambda {:.3g}; RMSE {:+.2f} % [{}]\n", c.name, chosen.lambda, 100 * loss, chosen.alpha_choice);
  EXPECT_LT(loss, c.loss);
  EXPECT_THAT(chosen.alpha_choice, HasSubstr("is in the whole, too"));
  EXPECT_THAT(chosen.warnings, testing::Contains(HasSubstr("streaks of half the views")));
}

INSTANTIATE_TEST_SUITE_P(Scans, SparseViews,
                         testing::Values(Sparse{"blade_60", PhantomType::blade, 60, 0.05},
                                         Sparse{"shepp_logan_80", PhantomType::shepp_logan_hc, 80, 0.1}),
                         [](const auto& info) { return info.param.name; });

// The three ways to the variance of each voxel: from the scan, from two halves, from the volume alone.
TEST(NoiseOfAScan, MapsAgreeWithThePropagatedVariance) {
  const Scan s = scan(PhantomType::two_balls, Window::hann, false);
  const auto compare = [&](const Volume& map, double bound) {
    std::array<double, 27> found{}, expected{};
    for (std::size_t n = 0; n < map.voxels.size(); ++n) {
      const std::size_t part =
          3 * (n % size) / size + 3 * (3 * (n / size % size) / size) + 9 * (3 * (n / size / size) / size);
      found[part] += map.voxels[n];
      expected[part] += s.variance.voxels[n];
    }
    for (int part = 0; part < 27; ++part) {
      EXPECT_GT(found[part] / expected[part], 1 / bound) << part;
      EXPECT_LT(found[part] / expected[part], bound) << part;
    }
  };
  compare(noise_map(s.odd, s.even).variance, 1.25);
  const auto alone = noise_map(s.all);
  EXPECT_TRUE(alone.correlated);
  compare(alone.variance, 1.8);
}

}  // namespace
}  // namespace halocline::strength_fdk_test
