// labels: unit
#include "algorithms/calibration/denoise_phantom.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "host/system/error.hpp"
#include "tests/reference/tv_reference.hpp"

namespace halocline::denoise_phantom_test {
namespace {

// No voxel of these sizes is on a surface.
TEST(DenoisePhantom, IsTheReferencesObject) {
  for (const std::size_t n : {7, 32, 33})
    EXPECT_EQ(denoise_phantom(n, 0).voxels, reference::two_balls(n, 0).voxels) << n;
}

TEST(DenoisePhantom, HasWhiteNoise) {
  const std::size_t n = 48;
  const Volume clean = denoise_phantom(n, 0), noisy = denoise_phantom(n, 0.1);
  double sum = 0, square = 0, product = 0;
  const auto count = static_cast<double>(clean.voxels.size());
  float before = 0;
  for (std::size_t i = 0; i < clean.voxels.size(); ++i) {
    const float difference = noisy.voxels[i] - clean.voxels[i];
    sum += difference;
    square += difference * difference;
    product += difference * before;
    before = difference;
  }
  EXPECT_NEAR(sum / count, 0, 5 * 0.1 / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(square / count), 0.1, 5 * 0.1 / std::sqrt(2 * count));
  EXPECT_NEAR(product / square, 0, 5 / std::sqrt(count));  // neighbours have nothing in common
}

TEST(DenoisePhantom, NoiseFollowsSeedAndWeights) {
  const std::size_t n = 16;
  const Volume clean = denoise_phantom(n, 0), one = denoise_phantom(n, 0.1), w = ramp_weights(n);
  EXPECT_EQ(denoise_phantom(n, 0.1, 1).voxels, one.voxels);
  EXPECT_NE(denoise_phantom(n, 0.1, 2).voxels, one.voxels);
  const Volume weighted = denoise_phantom(n, 0.1, 1, &w);
  for (std::size_t i = 0; i < w.voxels.size(); ++i)
    EXPECT_NEAR(weighted.voxels[i] - clean.voxels[i], std::sqrt(w.voxels[i]) * (one.voxels[i] - clean.voxels[i]), 1e-6);
}

TEST(RampWeights, AreTheReferences) {
  const Volume w = ramp_weights(24), expected = reference::ramp_weights(24);
  for (std::size_t i = 0; i < w.voxels.size(); ++i) ASSERT_FLOAT_EQ(w.voxels[i], expected.voxels[i]);
}

TEST(DenoisePhantom, RefusesNoVoxels) {
  EXPECT_THROW(denoise_phantom(0, 0.1), InputError);
  EXPECT_THROW(ramp_weights(0), InputError);
}

TEST(DenoisePhantom, IsStretchedAlongTheAxesOfOtherVolumes) {
  const Volume cube = denoise_phantom(24, 0.1), same = denoise_phantom({24, 24, 24}, 0.1);
  EXPECT_EQ(cube.voxels, same.voxels);
  const Volume flat = denoise_phantom({40, 20, 10}, 0);
  EXPECT_EQ(flat.grid.size, (std::array<std::size_t, 3>{40, 20, 10}));
  EXPECT_EQ(flat.grid.spacing, cube.grid.spacing);
  EXPECT_EQ(flat.at(14, 10, 5), 1.5f);  // middle of the inner ball, 0.35 of the width
  EXPECT_EQ(flat.at(34, 10, 5), 1.0f);  // 0.35 of the width from the middle
  EXPECT_EQ(flat.at(20, 17, 5), 1.0f);
  EXPECT_EQ(flat.at(20, 10, 9), 1.0f);  // 0.4 of the height from it
  EXPECT_EQ(flat.at(38, 18, 9), 0.0f);
  const Volume w = ramp_weights({8, 3, 2});
  EXPECT_EQ(w.at(5, 2, 1), ramp_weights(8).at(5, 0, 0));
}

}  // namespace
}  // namespace halocline::denoise_phantom_test
