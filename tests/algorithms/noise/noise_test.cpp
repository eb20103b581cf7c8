// labels: unit
// The random numbers against published vectors, the distributions against their moments, and pieces against the whole.
#include "algorithms/noise/noise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "host/system/error.hpp"

namespace halocline::noise_test {
namespace {

using testing::HasSubstr;
using Words = std::array<std::uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  // the vectors that Salmon et al. published with Random123
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformNumbersFillTheInterval) {
  PhiloxStream random(5, 1ULL << 40, 0);
  const int count = 200000;
  double sum = 0, squares = 0, least = 1, most = 0;
  for (int n = 0; n < count; ++n) {
    const double u = random.uniform();
    sum += u;
    squares += u * u;
    least = std::min(least, u);
    most = std::max(most, u);
  }
  EXPECT_GT(least, 0);
  EXPECT_LT(most, 1);
  EXPECT_LT(least, 1e-4);
  EXPECT_GT(most, 1 - 1e-4);
  EXPECT_NEAR(sum / count, 0.5, 5 * std::sqrt(1.0 / 12 / count));
  EXPECT_NEAR(squares / count, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / count));
  PhiloxStream other_item(5, (1ULL << 40) + 1, 0), other_purpose(5, 1ULL << 40, 1),
      other_seed(5 + (1ULL << 32), 1ULL << 40, 0), again(5, 1ULL << 40, 0);
  const double first = again.uniform();
  EXPECT_NE(first, other_item.uniform());
  EXPECT_NE(first, other_purpose.uniform());
  EXPECT_NE(first, other_seed.uniform());
}

TEST(Poisson, MeanAndVariance) {
  const int count = 200000;
  for (const double mean : {0.0, 0.01, 0.5, 1.0, 3.7, 9.999, 10.0, 12.5, 40.0, 1e3, 1e5, 1e6, 1e9}) {
    double sum = 0, squares = 0;
    for (int n = 0; n < count; ++n) {
      PhiloxStream random(11, static_cast<std::uint64_t>(n), 0);
      const double k = poisson(mean, random) - mean;
      sum += k;
      squares += k * k;
    }
    const double found = sum / count, variance = squares / count - found * found;
    // standard errors: sqrt(m / n), and sqrt((m + 2 m^2) / n) from the fourth moment m + 3 m^2
    EXPECT_NEAR(found, 0, 4.5 * std::sqrt(mean / count)) << mean;
    EXPECT_NEAR(variance, mean, 4.5 * std::sqrt((mean + 2 * mean * mean) / count)) << mean;
  }
}

// Counts against expected probabilities; cells of less than 10 expected counts are joined at both ends.
void expect_distribution(double mean, int count) {
  const int cells = static_cast<int>(mean + 12 * std::sqrt(mean) + 20);
  std::vector<double> found(cells, 0), expected(cells, 0);
  for (int n = 0; n < count; ++n) {
    PhiloxStream random(77, static_cast<std::uint64_t>(n), 3);
    const double k = poisson(mean, random);
    ASSERT_EQ(k, std::floor(k));
    ASSERT_GE(k, 0);
    ASSERT_LT(k, cells);
    ++found[static_cast<std::size_t>(k)];
  }
  for (int k = 0; k < cells; ++k) expected[k] = count * std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0));
  double chi = 0, f = 0, e = 0;
  int freedom = -1;
  double left = count;
  for (int k = 0; k < cells; ++k) {
    f += found[k];
    e += expected[k];
    left -= expected[k];
    if (e >= 10 && left >= 10) {
      chi += (f - e) * (f - e) / e;
      ++freedom;
      f = e = 0;
    }
  }
  e += left > 0 ? left : 0;
  chi += (f - e) * (f - e) / e;
  ++freedom;
  ASSERT_GT(freedom, 2);
  EXPECT_LT(chi, freedom + 4.5 * std::sqrt(2.0 * freedom) + 3) << "mean " << mean << ", degrees of freedom " << freedom;
}

TEST(Poisson, ChiSquare) {
  for (const double mean : {0.5, 2.0, 7.3, 9.9, 10.1, 15.0, 30.0, 200.0}) expect_distribution(mean, 400000);
}

Volume stack(std::array<std::size_t, 3> size, float value) {
  Grid grid{.size = size};
  return Volume(grid, value);
}

TEST(Noise, VarianceOfTheLineIntegral) {
  // var(p) = (I + sigma^2) / I^2 to first order, with a bias of half of that; I = 1e5 makes the rest small
  for (const double sigma : {0.0, 300.0}) {
    Volume projections = stack({93, 7, 200}, 1.5F);
    const double photons = 1e5 * std::exp(1.5), count = 1e5;
    const NoiseReport report = add_noise(projections, photons, sigma, 1);
    EXPECT_EQ(report.pixels, projections.voxels.size());
    EXPECT_EQ(report.nonpositive, 0U);
    double sum = 0, squares = 0;
    for (const float p : projections.voxels) {
      sum += p - 1.5;
      squares += (p - 1.5) * (p - 1.5);
    }
    const auto n = static_cast<double>(projections.voxels.size());
    const double expected = (count + sigma * sigma) / (count * count);
    EXPECT_NEAR(sum / n, expected / 2, 4.5 * std::sqrt(expected / n));
    EXPECT_NEAR(squares / n, expected, 4.5 * expected * std::sqrt(2 / n));
  }
}

TEST(Noise, CountsThatAreNotPositive) {
  Volume projections = stack({7, 7, 100}, 20);  // 2e-5 photons
  const NoiseReport report = add_noise(projections, 1e4, 0, 3);
  EXPECT_GT(report.nonpositive, 4880U);
  EXPECT_LE(report.nonpositive, report.pixels);
  std::size_t floor = 0;
  for (const float p : projections.voxels) {
    EXPECT_TRUE(std::isfinite(p));
    floor += p == static_cast<float>(std::log(2e4));
  }
  EXPECT_EQ(floor, report.nonpositive);
}

TEST(Noise, PiecesAreTheWhole) {
  Volume whole = stack({93, 7, 5}, 0);
  for (std::size_t n = 0; n < whole.voxels.size(); ++n) whole.voxels[n] = static_cast<float>(n % 97) * 0.1F;
  const Volume before = whole;
  const std::uint64_t base = (1ULL << 32) - 1000;  // across the boundary of a counter word
  const NoiseReport all = add_noise(whole, 2000, 3, 42, base);
  std::size_t nonpositive = 0;
  for (std::size_t view = 0; view < 5; ++view) {
    Volume one = stack({93, 7, 1}, 0);
    const std::size_t start = view * 93 * 7;
    std::copy_n(before.voxels.begin() + static_cast<std::ptrdiff_t>(start), 93 * 7, one.voxels.begin());
    nonpositive += add_noise(one, 2000, 3, 42, base + start).nonpositive;
    for (std::size_t n = 0; n < one.voxels.size(); ++n)
      ASSERT_EQ(one.voxels[n], whole.voxels[start + n]) << view << " " << n;
  }
  EXPECT_EQ(nonpositive, all.nonpositive);

  Volume other = before;
  add_noise(other, 2000, 3, 43, base);
  EXPECT_NE(other.voxels, whole.voxels);
}

TEST(Noise, NeighboursAreIndependent) {
  Volume projections = stack({100, 100, 4}, 1);
  add_noise(projections, 1e4, 0, 9);
  double own = 0, next = 0, mean = 0;
  for (const float p : projections.voxels) mean += p;
  mean /= 40000;
  for (std::size_t n = 0; n + 1 < projections.voxels.size(); ++n) {
    own += (projections.voxels[n] - mean) * (projections.voxels[n] - mean);
    next += (projections.voxels[n] - mean) * (projections.voxels[n + 1] - mean);
  }
  EXPECT_NEAR(next / own, 0, 4.5 / 200);
}

TEST(Noise, WrongInput) {
  Volume projections = stack({2, 2, 2}, 0);
  const auto error = [&](double photons, double sigma) -> std::string {
    try {
      add_noise(projections, photons, sigma, 0);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error(0, 1), HasSubstr("photons"));
  EXPECT_THAT(error(-5, 1), HasSubstr("photons"));
  EXPECT_THAT(error(nan, 1), HasSubstr("photons"));
  EXPECT_THAT(error(1e11, 1), HasSubstr("photons"));
  EXPECT_THAT(error(1e5, -1), HasSubstr("sigma"));
  EXPECT_THAT(error(1e5, nan), HasSubstr("sigma"));
  projections.voxels[5] = -100;
  EXPECT_THAT(error(1e5, 0), HasSubstr("pixel 1 in view 1"));
}

}  // namespace
}  // namespace halocline::noise_test
