// labels: unit
#include "algorithms/noise/noise_estimate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "algorithms/support/axis_filter.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/noise_volumes.hpp"

namespace halocline::noise_estimate_test {
namespace {

TEST(NoiseEstimate, EdgesHardlyMoveIt) {
  for (const std::size_t n : {32, 64})
    for (const double sigma : {0.02, 0.1, 0.3}) {
      const auto estimate = estimate_noise(reference::two_balls(n, sigma));
      EXPECT_NEAR(estimate.sigma, sigma, 0.02 * sigma) << n;
      EXPECT_EQ(estimate.active_fraction, 1);
    }
}

TEST(NoiseEstimate, WorksInOneTwoAndThreeDimensions) {
  for (const auto& size : {std::array<std::size_t, 3>{4000, 1, 1},
                           {1, 4000, 1},
                           {1, 1, 4000},
                           {60, 70, 1},
                           {60, 1, 70},
                           {2, 50, 60},
                           {2, 2, 2000},
                           {93, 7, 13}})
    EXPECT_NEAR(estimate_noise(white_noise(size, 0.5)).sigma, 0.5, 0.04) << size[0] << " " << size[1] << " " << size[2];
}

TEST(NoiseEstimate, OffsetsAndSlopesDoNotMatter) {
  Volume volume = white_noise({40, 41, 42}, 0.1);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] += static_cast<float>(100 + 0.02 * static_cast<double>(n % 40));
  EXPECT_NEAR(estimate_noise(volume).sigma, 0.1, 0.003);
}

TEST(NoiseEstimate, FilledBackgroundDoesNotCount) {
  Volume volume = white_noise({48, 48, 48}, 0.1);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    if (n % 48 > 31) volume.voxels[n] = 0;
  const auto estimate = estimate_noise(volume);
  EXPECT_NEAR(estimate.sigma, 0.1, 0.005);
  EXPECT_NEAR(estimate.active_fraction, 2.0 / 3, 0.05);
}

TEST(NoiseEstimate, WithoutNoiseItIsZero) {
  Grid grid;
  EXPECT_EQ(estimate_noise(Volume(grid, 1)).sigma, 0);  // no voxel at all
  grid.size = {1, 1, 1};
  EXPECT_EQ(estimate_noise(Volume(grid, 1)).sigma, 0);
  grid.size = {9, 8, 7};
  const auto estimate = estimate_noise(Volume(grid, 3.5f));
  EXPECT_EQ(estimate.sigma, 0);
  EXPECT_EQ(estimate.active_fraction, 0);
}

TEST(NoiseEstimate, ValuesThatAreNotFiniteAreLeftOut) {
  Volume volume = white_noise({30, 30, 30}, 0.2);
  for (std::size_t n = 0; n < volume.voxels.size(); n += 501)
    volume.voxels[n] = std::numeric_limits<float>::quiet_NaN();
  volume.voxels[77] = std::numeric_limits<float>::infinity();
  EXPECT_NEAR(estimate_noise(volume).sigma, 0.2, 0.01);
}

TEST(NoiseEstimate, WeightsDivideByTheirSquareRoots) {
  Volume weights = reference::ramp_weights(64);
  const Volume volume = reference::two_balls(64, 0.1, 1, &weights);
  EXPECT_NEAR(estimate_noise(volume, &weights).sigma, 0.1, 0.002);
  for (std::size_t n = 0; n < weights.voxels.size(); ++n)
    if (n % 64 < 32) weights.voxels[n] = 0;
  const auto half = estimate_noise(volume, &weights);
  EXPECT_NEAR(half.sigma, 0.1, 0.003);
  EXPECT_NEAR(half.active_fraction, 0.5, 0.02);
}

TEST(NoiseEstimate, LargeVolumesAreSampledAlike) {
  EXPECT_NEAR(estimate_noise(white_noise({128, 128, 96}, 0.1)).sigma, 0.1, 0.001);
}

TEST(NoiseEstimate, TextureIsNotTakenForNoiseThatNeighboursShare) {
  for (const auto& size : {std::array<std::size_t, 3>{48, 48, 48}, {93, 91, 1}})
    for (const double radius : {2.0, 3.5}) {
      const Volume object = foam(size, 0.75 * radius, 1.5 * radius);
      for (const double sigma : {0.05, 0.2}) {
        Volume volume = white_noise(size, sigma);
        for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] += object.voxels[n];
        const auto estimate = estimate_noise(volume);
        const auto name = ::testing::Message() << size[2] << " slices, holes of " << radius << ", noise of " << sigma
                                               << ", excess " << estimate.excess << ", estimated " << estimate.sigma;
        EXPECT_GT(estimate.excess, 1.25) << name;  // by distances alone it would be
        EXPECT_FALSE(estimate.correlated) << name;
        EXPECT_NEAR(estimate.sigma, sigma, 0.1 * sigma) << name;
        // and where they do share it
        const Volume shared = blurred(white_noise(size, sigma), size[2] > 1 ? 3 : 2);
        for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = object.voxels[n] + shared.voxels[n];
        EXPECT_TRUE(estimate_noise(volume).correlated) << name;
      }
    }
}

TEST(NoiseEstimate, NoiseThatNeighboursShareIsRecognised) {
  for (const bool object : {false, true})
    for (const int axes : {0, 1, 2, 3}) {
      Volume volume = blurred(white_noise({56, 56, 56}, 0.05), axes);
      const Volume balls = reference::two_balls(56, 0);
      for (std::size_t n = 0; object && n < volume.voxels.size(); ++n) volume.voxels[n] += balls.voxels[n];
      const auto estimate = estimate_noise(volume);
      const std::string name = std::to_string(axes) + (object ? " axes, with an object" : " axes");
      EXPECT_EQ(estimate.correlated, axes > 0) << name;
      EXPECT_GT(estimate.sigma, 0.9 * 0.05) << name;
      EXPECT_LT(estimate.sigma, 1.05 * 0.05) << name;
      for (int axis = 0; axis < 3; ++axis) {
        // of 1 : 2 : 1 with itself: 1 4 6 4 1
        EXPECT_NEAR(estimate.correlation[axis][0], axis < axes ? 4.0 / 6 : 0, 0.08) << name << ", along " << axis;
        EXPECT_NEAR(estimate.correlation[axis][1], axis < axes ? 1.0 / 6 : 0, 0.08) << name << ", along " << axis;
      }
    }
}

// Clinical CT: pixels are finer than its kernels.
TEST(NoiseEstimate, NoiseThatReachesOverThreeVoxelsIsMeasuredTo15Percent) {
  for (const double reach : {1.1, 1.4})
    for (const bool object : {false, true}) {
      Volume volume = gaussian_smoothed(white_noise({72, 72, 72}, 1), reach);
      double squares = 0;
      for (const float value : volume.voxels) squares += static_cast<double>(value) * value;
      const double scale = 0.05 / std::sqrt(squares / static_cast<double>(volume.voxels.size()));
      const Volume balls = reference::two_balls(72, 0);
      for (std::size_t n = 0; n < volume.voxels.size(); ++n)
        volume.voxels[n] = static_cast<float>(scale * volume.voxels[n] + (object ? balls.voxels[n] : 0));
      const auto estimate = estimate_noise(volume);
      EXPECT_TRUE(estimate.correlated) << reach;
      EXPECT_NEAR(estimate.sigma, 0.05, 0.15 * 0.05) << reach << (object ? ", with an object" : "");
      for (const auto& along : estimate.correlation)  // of a Gaussian with itself
        for (int lag = 1; lag <= 4; ++lag)
          EXPECT_NEAR(along[lag - 1], std::exp(-lag * lag / (4 * reach * reach)), 0.1) << reach << ", " << lag;
    }
}

}  // namespace
}  // namespace halocline::noise_estimate_test
