// labels: unit
// Noise of known variance that changes over the volume, under objects with edges: what the maps say of it.
#include "algorithms/noise/noise_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/support/axis_filter.hpp"
#include "host/system/error.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/noise_volumes.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::noise_map_test {
namespace {

using testing::HasSubstr;

/// Along x from a third to three times as much at the same mean square: the standard deviation changes threefold.
Volume threefold(const Grid& grid, double sigma) {
  Volume variance(grid);
  for (std::size_t n = 0; n < variance.voxels.size(); ++n)
    variance.voxels[n] = static_cast<float>(
        sigma * sigma * std::pow(9.0, static_cast<double>(n % grid.size[0]) / static_cast<double>(grid.size[0]) - 0.5));
  return variance;
}

Volume with_noise(Volume volume, const Volume& variance, double factor, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] += static_cast<float>(std::sqrt(factor * variance.voxels[n]) * normal(generator));
  return volume;
}

/// Noise of standard deviation 1 that went through a Gaussian kernel of that many voxels.
Volume shared_noise(const Grid& grid, double reach) {
  Volume noise = gaussian_smoothed(with_noise(Volume(grid), Volume(grid, 1), 1, 1), reach);
  double squares = 0;
  for (const float value : noise.voxels) squares += static_cast<double>(value) * value;
  const double scale = std::sqrt(static_cast<double>(noise.voxels.size()) / squares);
  for (float& value : noise.voxels) value = static_cast<float>(scale * value);
  return noise;
}

/// Small balls of one, like vessels in a lung, in the first quarter of x.
Volume small_balls(const Grid& grid) {
  Volume volume(grid);
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> share(0, 1);
  for (int ball = 0; ball < 500; ++ball) {
    const double centre[] = {0.25 * share(generator) * static_cast<double>(grid.size[0]),
                             share(generator) * static_cast<double>(grid.size[1]),
                             share(generator) * static_cast<double>(grid.size[2])};
    const double radius = 1 + 2 * share(generator);
    for (std::size_t k = 0; k < grid.size[2]; ++k)
      for (std::size_t j = 0; j < grid.size[1]; ++j)
        for (std::size_t i = 0; i < grid.size[0] / 4; ++i)
          if (std::hypot(static_cast<double>(i) - centre[0], static_cast<double>(j) - centre[1],
                         static_cast<double>(k) - centre[2]) <= radius)
            volume.at(i, j, k) = 1;
  }
  return volume;
}

Volume object(const std::string& name, std::size_t n) {
  Grid grid{.size = {n, n, n}};
  if (name == "balls") return reference::two_balls(n, 0);
  return voxelise(name == "blade" ? PhantomType::blade : PhantomType::shepp_logan_hc, grid, static_cast<double>(n), 1);
}

/// The mean of the map over that of the variances, in the 4 x 4 x 4 parts of the volume.
struct Ratios {
  double least = std::numeric_limits<double>::infinity(), most = 0, all = 0;
};
Ratios ratios(const Volume& map, const Volume& variance) {
  const auto& size = map.grid.size;
  std::array<double, 64> found{}, expected{};
  for (std::size_t k = 0; k < size[2]; ++k)
    for (std::size_t j = 0; j < size[1]; ++j)
      for (std::size_t i = 0; i < size[0]; ++i) {
        const std::size_t part = 4 * i / size[0] + 4 * (4 * j / size[1]) + 16 * (4 * k / size[2]);
        found[part] += map.at(i, j, k);
        expected[part] += variance.at(i, j, k);
      }
  Ratios out;
  double sum = 0, total = 0;
  for (int part = 0; part < 64; ++part) {
    out.least = std::min(out.least, found[part] / expected[part]);
    out.most = std::max(out.most, found[part] / expected[part]);
    sum += found[part];
    total += expected[part];
  }
  out.all = sum / total;
  return out;
}

class Objects : public testing::TestWithParam<std::string> {};

TEST_P(Objects, NoiseThatVariesThreefoldIsFoundInTheVolumeAlone) {
  const Volume clean = object(GetParam(), 64);
  for (const double sigma : {0.03, 0.3}) {
    const Volume variance = threefold(clean.grid, sigma);
    const auto map = noise_map(with_noise(clean, variance, 1, 1));
    const auto ratio = ratios(map.variance, variance);
    EXPECT_GT(ratio.least, 0.8) << sigma;
    EXPECT_LT(ratio.most, 1.25) << sigma;
    EXPECT_NEAR(ratio.all, 1, 0.05) << sigma;
    EXPECT_FALSE(map.correlated);
    EXPECT_NEAR(map.sigma, sigma * 1.09, 0.05 * sigma);
    EXPECT_GT(map.most / map.least, 2.5);
    EXPECT_LT(map.most / map.least, 5);  // single voxels: 3 times the 1.5 of the extrapolation beyond the outer windows
    EXPECT_EQ(map.how, "estimated from the volume alone");
  }
}

TEST_P(Objects, AndInTwoHalves) {
  const Volume clean = object(GetParam(), 64);
  const Volume variance = threefold(clean.grid, 0.1);  // of the whole; a half has twice as much
  const auto map = noise_map(with_noise(clean, variance, 2, 1), with_noise(clean, variance, 2, 2));
  const auto ratio = ratios(map.variance, variance);
  EXPECT_GT(ratio.least, 0.9);
  EXPECT_LT(ratio.most, 1.1);
  EXPECT_NEAR(ratio.all, 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Phantoms, Objects, testing::Values("balls", "shepp_logan", "blade"),
                         [](const auto& info) { return info.param; });

TEST(NoiseMap, NoiseThatNeighboursShareIsScaledUpOrMeasured) {
  const Volume clean = object("balls", 48);
  const Volume variance(clean.grid, 0.01f);
  const auto noisy = [&](double factor, unsigned seed) {
    Volume noise = blurred(with_noise(Volume(clean.grid), variance, factor, seed), 2);
    for (std::size_t n = 0; n < noise.voxels.size(); ++n) noise.voxels[n] += clean.voxels[n];
    return noise;
  };
  const auto alone = noise_map(noisy(1, 1));
  EXPECT_TRUE(alone.correlated);
  EXPECT_THAT(alone.how, HasSubstr("neighbours share"));
  const auto ratio = ratios(alone.variance, variance);
  EXPECT_GT(ratio.least, 0.65);
  EXPECT_LT(ratio.most, 1.4);
  EXPECT_NEAR(ratio.all, 1, 0.15);
  const auto halves = ratios(noise_map(noisy(2, 1), noisy(2, 2)).variance, variance);
  EXPECT_GT(halves.least, 0.75);  // a part holds some 500 independent values of such noise
  EXPECT_LT(halves.most, 1.25);
  EXPECT_NEAR(halves.all, 1, 0.04);
}

TEST(NoiseMap, NoiseThatVariesAndReachesOverThreeVoxelsIsFound) {
  const Volume clean = object("balls", 64);
  const Volume variance = threefold(clean.grid, 0.05);
  for (const double reach : {1.1, 1.3}) {
    Volume noise = shared_noise(clean.grid, reach);
    for (std::size_t n = 0; n < noise.voxels.size(); ++n)
      noise.voxels[n] = static_cast<float>(clean.voxels[n] + std::sqrt(variance.voxels[n]) * noise.voxels[n]);
    const auto map = noise_map(noise);
    EXPECT_TRUE(map.correlated);
    EXPECT_NEAR(ratios(map.variance, variance).all, 1, 0.15) << reach;
  }
}

// The factor for such noise, 150 here, magnifies what fine structure leaves in details.
TEST(NoiseMap, StructureIsNotMagnifiedWithNoiseThatReachesOverThreeVoxels) {
  const double sigma = 0.05;
  Grid grid{.size = {96, 72, 72}};
  Volume f = shared_noise(grid, 1.3);
  double structured = 0, plain = 0;
  const Volume structure = gaussian_smoothed(small_balls(grid), 0.6);
  for (std::size_t n = 0; n < f.voxels.size(); ++n)
    f.voxels[n] = static_cast<float>(sigma * f.voxels[n] + (n % 96 < 24 ? 2 * structure.voxels[n] : 1.5));
  const auto map = noise_map(f);
  ASSERT_TRUE(map.correlated);
  for (std::size_t n = 0; n < f.voxels.size(); ++n) (n % 96 < 24 ? structured : plain) += map.variance.voxels[n];
  EXPECT_NEAR(std::sqrt(plain / (72 * 72 * 72)), sigma, 0.15 * sigma);
  EXPECT_LT(std::sqrt(structured / (24 * 72 * 72)), 2.2 * sigma);
}

// A ball whose grey values rise towards its rim, so that most of its windows do not hold noise alone, in quiet air.
TEST(NoiseMap, QuietAirSetsNoLimit) {
  Grid grid{.size = {72, 60, 60}};
  Volume f = shared_noise(grid, 1.1);
  double inside = 0, count = 0;
  const auto radius = [&](std::size_t n) {
    return std::hypot(static_cast<double>(n % 72) - 36, static_cast<double>(n / 72 % 60) - 30,
                      static_cast<double>(n / 72 / 60) - 30);
  };
  for (std::size_t n = 0; n < f.voxels.size(); ++n) {
    const double r = radius(n), noise = f.voxels[n];
    f.voxels[n] = static_cast<float>(r < 27 ? 100 + 60 * (r / 27) * (r / 27) + noise : 0.1 * noise);
  }
  const auto map = noise_map(f);
  ASSERT_TRUE(map.correlated);
  for (std::size_t n = 0; n < f.voxels.size(); ++n) {
    if (radius(n) > 22) continue;
    inside += map.variance.voxels[n];
    ++count;
  }
  EXPECT_GT(std::sqrt(inside / count), 0.7);
  EXPECT_LT(std::sqrt(inside / count), 1.5);
}

TEST(NoiseMap, WorksInOneTwoAndThreeDimensions) {
  for (const auto& size : {std::array<std::size_t, 3>{4000, 1, 1},
                           {1, 4000, 1},
                           {1, 1, 4000},
                           {160, 170, 1},
                           {160, 1, 170},
                           {2, 50, 60},
                           {93, 7, 13}}) {
    const auto map = noise_map(white_noise(size, 0.5));
    const std::string name = testing::PrintToString(size);
    ASSERT_EQ(map.variance.grid.size, size);
    EXPECT_NEAR(map.sigma, 0.5, 0.05) << name;
    EXPECT_GT(map.least, 0.3) << name;
    EXPECT_LT(map.most, 0.75) << name;
    EXPECT_NEAR(noise_map(white_noise(size, 0.5, 1), white_noise(size, 0.5, 2)).sigma, 0.5 / std::sqrt(2.0), 0.03)
        << name;
  }
}

TEST(NoiseMap, GreyValuesScaleItAndOffsetsDoNot) {
  const Volume f = with_noise(object("balls", 32), threefold(object("balls", 32).grid, 0.1), 1, 3);
  Volume scaled = f, shifted = f;
  for (auto& value : scaled.voxels) value *= 8;
  for (auto& value : shifted.voxels) value += 2;
  const auto map = noise_map(f), large = noise_map(scaled), high = noise_map(shifted);
  for (std::size_t n = 0; n < f.voxels.size(); ++n) {
    ASSERT_EQ(large.variance.voxels[n], 64 * map.variance.voxels[n]) << n;
    ASSERT_NEAR(high.variance.voxels[n], map.variance.voxels[n], 1e-4f * map.variance.voxels[n]) << n;
  }
}

TEST(NoiseMap, FilledBackgroundHasNone) {
  Volume volume = white_noise({72, 36, 36}, 0.1);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    if (n % 72 >= 36) volume.voxels[n] = 0;
  const auto map = noise_map(volume);
  EXPECT_EQ(map.variance.at(66, 18, 18), 0);
  EXPECT_EQ(map.least, 0);
  EXPECT_NEAR(std::sqrt(map.variance.at(18, 18, 18)), 0.1, 0.01);
  EXPECT_NEAR(map.sigma, 0.1, 0.015);
}

TEST(NoiseMap, ValuesThatAreNotFiniteAreLeftOut) {
  Volume volume = white_noise({30, 30, 30}, 0.2), other = white_noise({30, 30, 30}, 0.2, 2);
  for (std::size_t n = 0; n < volume.voxels.size(); n += 501)
    volume.voxels[n] = std::numeric_limits<float>::quiet_NaN();
  volume.voxels[77] = std::numeric_limits<float>::infinity();
  EXPECT_NEAR(noise_map(volume).sigma, 0.2, 0.015);
  EXPECT_NEAR(noise_map(volume, other).sigma, 0.2 / std::sqrt(2.0), 0.01);
}

template <typename Work>
void expect_refused(const Work& work, const std::string& text) {
  EXPECT_THAT(refusal_of(work), HasSubstr(text));
}

TEST(NoiseMap, WithoutNoiseThereIsNone) {
  Grid grid;
  for (const std::size_t n : {1, 2, 20}) {
    grid.size = {n, n, n};
    expect_refused([&] { noise_map(Volume(grid, 3)); }, "no noise can be measured");
    expect_refused([&] { noise_map(Volume(grid, 3), Volume(grid, 3), "'a'", "'b'"); },
                   "'a' and 'b' are the same everywhere");
  }
  Grid other = grid;
  other.spacing[1] = 2;
  expect_refused([&] { noise_map(Volume(grid, 3), Volume(other, 4), "'a'", "'b'"); }, "'b'");
}

}  // namespace
}  // namespace halocline::noise_map_test
