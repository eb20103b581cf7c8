// labels: unit
#include "algorithms/support/volume_sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace halocline::volume_sample_test {
namespace {

Volume made(const std::array<std::size_t, 3>& size, float (*value)(double x, double y, double z)) {
  Grid grid{.size = size};
  Volume volume(grid);
  const auto at = [&](std::size_t i, int axis) {
    return (static_cast<double>(i) + 0.5) / static_cast<double>(size[axis]);
  };
  for (std::size_t k = 0; k < size[2]; ++k)
    for (std::size_t j = 0; j < size[1]; ++j)
      for (std::size_t i = 0; i < size[0]; ++i) volume.at(i, j, k) = value(at(i, 0), at(j, 1), at(k, 2));
  return volume;
}

TEST(VolumeSample, SmallVolumesAreTakenWhole) {
  Volume volume = made({31, 17, 5}, [](double x, double y, double z) { return static_cast<float>(x + 2 * y + 3 * z); });
  EXPECT_NEAR(sample_volume(MemorySource(volume)).mean, 3, 1e-6);
  volume.at(3, 3, 3) = std::numeric_limits<float>::quiet_NaN();
  volume.at(4, 3, 3) = std::numeric_limits<float>::infinity();
  EXPECT_NEAR(sample_volume(MemorySource(volume)).mean, 3, 1e-2);
  Grid one{.size = {1, 1, 1}};
  EXPECT_EQ(sample_volume(MemorySource(Volume(one, 7))).mean, 7);
  EXPECT_EQ(sample_volume(MemorySource(Volume(one, std::numeric_limits<float>::infinity()))).mean, 0);
}

// Sizes that are powers of two, where places at even distances would all be in one column.
TEST(VolumeSample, LargeVolumesAreSampledEverywhere) {
  for (const auto& size : {std::array<std::size_t, 3>{128, 128, 128}, {1024, 64, 32}, {100, 200, 90}}) {
    const auto mean = [&](float (*value)(double, double, double)) {
      return sample_volume(MemorySource(made(size, value))).mean;
    };
    EXPECT_NEAR(mean([](double x, double, double) { return static_cast<float>(x); }), 0.5, 0.03);
    EXPECT_NEAR(mean([](double, double y, double) { return static_cast<float>(y); }), 0.5, 0.03);
    EXPECT_NEAR(mean([](double, double, double z) { return static_cast<float>(z); }), 0.5, 0.01);
    EXPECT_NEAR(mean([](double, double y, double) { return y < 0.25 ? 1.0f : 0.0f; }), 0.25, 0.05);
  }
}

TEST(VolumeSample, UniformPartsAreNotActive) {
  std::mt19937 generator(3);
  std::normal_distribution<float> normal;
  Volume volume = made({160, 160, 100}, [](double, double, double) { return 0.0f; });
  double active = 0;
  for (std::size_t k = 0; k < 100; ++k)
    for (std::size_t j = 0; j < 160; ++j)
      for (std::size_t i = 0; i < 160; ++i)
        if (std::hypot(static_cast<double>(i) - 79.5, static_cast<double>(j) - 79.5) < 70) {
          volume.at(i, j, k) = 5 + normal(generator);
          ++active;
        }
  const auto sample = sample_volume(MemorySource(volume));
  EXPECT_NEAR(sample.active_fraction, active / static_cast<double>(volume.grid.count()), 0.05);
  EXPECT_NEAR(sample.mean, 5 * active / static_cast<double>(volume.grid.count()), 0.2);
  // noise rounded to whole numbers is no uniform part
  for (float& value : volume.voxels) value = std::round(normal(generator));
  EXPECT_GT(sample_volume(MemorySource(volume)).active_fraction, 0.999);
}

TEST(VolumeSample, IsTheSameEveryTime) {
  const Volume volume = made({111, 99, 77}, [](double x, double y, double z) {
    return static_cast<float>(std::sin(50 * x) * std::cos(70 * y) + z);
  });
  const auto once = sample_volume(MemorySource(volume)), again = sample_volume(MemorySource(volume));
  EXPECT_EQ(once.mean, again.mean);
  EXPECT_EQ(once.active_fraction, again.active_fraction);
}

}  // namespace
}  // namespace halocline::volume_sample_test
