// labels: unit
// Quality measures against brute force, against published software, and at their limits.
#include "algorithms/metrics/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "host/system/error.hpp"
#include "tests/reference/metrics_reference.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::metrics_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Volume volume_of(std::array<std::size_t, 3> size) {
  Grid grid{.size = size, .spacing = {0.5, 0.7, 2}};
  return Volume(grid);
}

// A reproducible number in [0, 1).
double hash(std::size_t n, std::size_t salt) {
  std::uint64_t x = (n + 1) * 0x9E3779B97F4A7C15ULL + salt * 0xD1B54A32D192ED03ULL;
  x ^= x >> 31;
  x *= 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 29;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

struct Pair {
  Volume image, reference;
};

// A smooth off-centre object plus noise, on an offset.
Pair sample(std::array<std::size_t, 3> size, double offset = 0) {
  Pair pair{volume_of(size), volume_of(size)};
  for (std::size_t k = 0, n = 0; k < size[2]; ++k)
    for (std::size_t j = 0; j < size[1]; ++j)
      for (std::size_t i = 0; i < size[0]; ++i, ++n) {
        const double value =
            offset + std::sin(0.31 * i) * std::cos(0.17 * j + 1) + 0.3 * std::sin(0.5 * k) + (i > j ? 0.5 : 0);
        pair.reference.voxels[n] = static_cast<float>(value);
        pair.image.voxels[n] = static_cast<float>(value + 0.4 * (hash(n, 1) - 0.5));
      }
  return pair;
}

TEST(Metrics, AgreeWithBruteForce) {
  for (const auto& size : {std::array<std::size_t, 3>{1, 1, 7},
                           {7, 1, 1},
                           {93, 7, 1},
                           {1, 12, 11},
                           {11, 11, 11},
                           {7, 5, 3},
                           {13, 10, 12},
                           {23, 17, 14}})
    for (const double offset : {0.0, 1000.0}) {
      const Pair pair = sample(size, offset);
      const Comparison found = compare_images(pair.image, pair.reference);
      const double tolerance = offset == 0 ? 1e-12 : 1e-8;
      EXPECT_NEAR(found.ssim, reference::structural_similarity(pair.image, pair.reference), tolerance);
      EXPECT_NEAR(found.psnr, reference::peak_signal_to_noise(pair.image, pair.reference), 1e-9);
      EXPECT_NEAR(found.correlation, reference::correlation(pair.image, pair.reference), tolerance);
      EXPECT_NEAR(found.rmse * found.rmse, found.mse, 1e-15);
      // bitwise identical again, however the threads were scheduled
      EXPECT_EQ(found.ssim, compare_images(pair.image, pair.reference).ssim);
    }
}

TEST(Metrics, KnownValues) {
  Pair pair{volume_of({4, 1, 1}), volume_of({4, 1, 1})};
  pair.reference.voxels = {0, 1, 2, 4};
  pair.image.voxels = {1, 1, 2, 1};
  const Comparison found = compare_images(pair.image, pair.reference);
  EXPECT_DOUBLE_EQ(found.mse, 10.0 / 4);
  EXPECT_DOUBLE_EQ(found.psnr, 10 * std::log10(16 / 2.5));
  EXPECT_DOUBLE_EQ(found.mean_difference, -0.5);
  EXPECT_DOUBLE_EQ(found.largest_difference, 3);
  // r = cov / (s_a s_b) by hand: sums of products about the means 1.25 and 1.75
  EXPECT_NEAR(found.correlation, 0.25 / std::sqrt(0.75 * 8.75), 1e-15);
}

TEST(Metrics, Limits) {
  const Pair pair = sample({12, 12, 3});
  const Comparison same = compare_images(pair.reference, pair.reference);
  EXPECT_EQ(same.mse, 0);
  EXPECT_TRUE(std::isinf(same.psnr) && same.psnr > 0);
  EXPECT_NEAR(same.ssim, 1, 1e-14);
  EXPECT_NEAR(same.correlation, 1, 1e-14);

  Volume constant = volume_of({12, 12, 3});
  const Comparison blank = compare_images(pair.image, constant);
  EXPECT_TRUE(std::isnan(blank.ssim));
  EXPECT_TRUE(std::isnan(blank.psnr));  // the reference's maximum is 0
  EXPECT_TRUE(std::isnan(blank.correlation));
  EXPECT_GT(blank.mse, 0);

  Volume mirrored = pair.reference;
  for (float& value : mirrored.voxels) value = -value;
  EXPECT_NEAR(compare_images(mirrored, pair.reference).correlation, -1, 1e-14);
}

TEST(Metrics, AnotherGridIsRefusedWithBothNames) {
  Pair pair = sample({4, 4, 4});
  pair.reference.grid.spacing[1] = 1;
  EXPECT_THAT(refusal_of([&] { compare_images(pair.image, pair.reference, "noisy.mha", "truth.mha"); }),
              AllOf(HasSubstr("noisy.mha"), HasSubstr("truth.mha"), HasSubstr("spacing")));
}

TEST(Metrics, BoxesAreHalfOpen) {
  Volume volume = volume_of({5, 4, 3});
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = static_cast<float>(n);
  const Box box = make_box({1, 2, 0, 3, 4, 2}, volume.grid, "--box");
  const BoxStatistics found = box_statistics(volume, box);
  EXPECT_EQ(found.count, 8U);
  // 11 12 16 17 and 20 more
  EXPECT_DOUBLE_EQ(found.mean, 24);
  EXPECT_DOUBLE_EQ(found.minimum, 11);
  EXPECT_DOUBLE_EQ(found.maximum, 37);
  EXPECT_DOUBLE_EQ(found.deviation, std::sqrt(2 * (169 + 144 + 64 + 49) / 7.0));
  EXPECT_DOUBLE_EQ(found.snr, found.mean / found.deviation);

  const Box one = make_box({4, 3, 2, 5, 4, 3}, volume.grid, "--box");
  EXPECT_EQ(box_statistics(volume, one).mean, 59);
  EXPECT_EQ(box_statistics(volume, one).deviation, 0);
  EXPECT_TRUE(std::isinf(box_statistics(volume, one).snr));
  EXPECT_DOUBLE_EQ(contrast_to_noise(box_statistics(volume, one), found), 35 / (found.deviation / std::sqrt(2.0)));
  EXPECT_TRUE(std::isnan(contrast_to_noise(box_statistics(volume, one), box_statistics(volume, one))));

  Volume constant = volume_of({5, 4, 3});
  for (float& value : constant.voxels) value = 0.1F;  // its mean in double is rounded
  EXPECT_EQ(box_statistics(constant, make_box({0, 0, 0, 5, 4, 3}, constant.grid, "--box")).deviation, 0);
}

TEST(Metrics, BoxesThatDoNotFit) {
  const Volume volume = volume_of({5, 4, 3});
  for (const std::array<long long, 6>& numbers : {std::array<long long, 6>{0, 0, 0, 6, 4, 3},
                                                  {0, 0, 0, 5, 4, 4},
                                                  {2, 0, 0, 2, 4, 3},
                                                  {3, 0, 0, 2, 4, 3},
                                                  {-1, 0, 0, 2, 4, 3},
                                                  {0, 9, 0, 2, 10, 3}}) {
    try {
      make_box(numbers, volume.grid, "--box");
      ADD_FAILURE();
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("--box"), HasSubstr("along axis"), HasSubstr("<= ")));
    }
  }
  EXPECT_THROW(box_statistics(volume, Box{{0, 0, 0}, {5, 4, 4}}), InputError);
  EXPECT_THROW(box_statistics(volume, Box{{2, 2, 2}, {2, 3, 3}}), InputError);
}

}  // namespace
}  // namespace halocline::metrics_test
