// labels: unit
// The filter's transfer functions.
#include "algorithms/fdk/ramp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "host/system/error.hpp"
#include "tests/reference/projector_reference.hpp"

namespace halocline::ramp_test {
namespace {

constexpr double pi = std::numbers::pi;

TEST(Ramp, KernelIsKakAndSlaneys) {
  for (const std::size_t length : {2u, 7u, 64u, 93u}) {
    const auto kernel = kernel_of_transfer(ramp_transfer(Window::ram_lak, 1, length));
    ASSERT_EQ(kernel.size(), length);
    EXPECT_NEAR(kernel[0], 0.25, 1e-14);
    for (std::size_t n = 1; n < length; ++n) {
      const double lag = static_cast<double>(std::min(n, length - n));
      EXPECT_NEAR(kernel[n], std::fmod(lag, 2) == 1 ? -1 / (pi * pi * lag * lag) : 0, 1e-14)
          << "n " << n << " of " << length;
    }
  }
}

TEST(Ramp, TransferApproachesHalfTheFrequencyOverPi) {
  const std::size_t length = 1024;
  const auto transfer = ramp_transfer(Window::ram_lak, 1, length);
  EXPECT_GT(transfer[0], 0);  // the mean is kept: not |w|, which is 0 there
  EXPECT_LT(transfer[0], 1e-3);
  for (std::size_t n = 1; n <= length / 2; ++n) {
    EXPECT_NEAR(transfer[n], static_cast<double>(n) / static_cast<double>(length), 1e-3);
    EXPECT_EQ(transfer[n], transfer[length - n]);
  }
}

TEST(Ramp, WindowsAtTheEndsAndTheMiddle) {
  EXPECT_DOUBLE_EQ(window_value(Window::ram_lak, 1, pi), 1);
  EXPECT_DOUBLE_EQ(window_value(Window::shepp_logan, 1, pi), 2 / pi);
  EXPECT_NEAR(window_value(Window::cosine, 1, pi / 2), std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(window_value(Window::hamming, 1, pi), 0.08, 1e-15);
  EXPECT_NEAR(window_value(Window::hann, 1, pi / 2), 0.5, 1e-15);
  for (const auto& name : window_names()) {
    const Window window = window_from_name(name);
    EXPECT_DOUBLE_EQ(window_value(window, 1, 0), 1) << name;
    // squeezed into half the band
    EXPECT_DOUBLE_EQ(window_value(window, 0.5, 0.3), window_value(window, 1, 0.6)) << name;
    EXPECT_EQ(window_value(window, 0.5, 0.6 * pi), 0) << name;
  }
}

TEST(Ramp, WindowedKernelMatchesTheDefinition) {
  const auto expected = reference::kernel(Window::hamming, 0.7, 90);
  const auto kernel = kernel_of_transfer(ramp_transfer(Window::hamming, 0.7, 90));
  for (std::size_t n = 0; n < 90; ++n) EXPECT_NEAR(kernel[n], expected[n], 1e-13);
}

TEST(Ramp, SquaredKernelTransformsBack) {
  const auto transfer = ramp_transfer(Window::hann, 0.8, 96);
  const auto kernel = kernel_of_transfer(transfer), squared = kernel_of_transfer(squared_transfer(transfer));
  for (std::size_t n = 0; n < 96; ++n) EXPECT_NEAR(squared[n], kernel[n] * kernel[n], 1e-15);
}

TEST(Ramp, NeighbourCorrelation) {
  EXPECT_NEAR(neighbour_correlation(ramp_transfer(Window::ram_lak, 1, 2048)), -6 / (pi * pi), 1e-3);
  for (const auto& name : window_names()) {
    const auto h = reference::kernel(window_from_name(name), 0.9, 128);
    double power = 0, product = 0;
    for (std::size_t n = 0; n < h.size(); ++n) {
      power += h[n] * h[n];
      product += h[n] * h[(n + 1) % h.size()];
    }
    EXPECT_NEAR(neighbour_correlation(ramp_transfer(window_from_name(name), 0.9, 128)), product / power, 1e-12) << name;
  }
  // a smooth filter makes neighbours alike
  EXPECT_GT(neighbour_correlation(ramp_transfer(Window::hann, 0.3, 512)), 0.5);
}

TEST(Ramp, SamplesOfTheRampGiveItsBits) {
  for (const std::size_t length : {64, 90, 128}) {
    const auto ramp = ramp_transfer(Window::ram_lak, 1, length);
    EXPECT_EQ(sampled_transfer(std::span(ramp).first(length / 2 + 1), Window::hann, 0.7, length),
              ramp_transfer(Window::hann, 0.7, length));
  }
}

TEST(Ramp, SamplesAreInterpolatedLinearly) {
  const std::vector<double> samples{1, 3, 2};
  EXPECT_EQ(sampled_transfer(samples, Window::ram_lak, 1, 8), (std::vector<double>{1, 2, 3, 2.5, 2, 2.5, 3, 2}));
}

TEST(Ramp, RefusesBadNamesAndCutOffs) {
  EXPECT_THAT([] { window_from_name("hanning"); },
              testing::ThrowsMessage<InputError>(
                  testing::AllOf(testing::HasSubstr("hanning"), testing::HasSubstr("ram-lak, shepp-logan"))));
  for (const double cutoff : {0.0, -0.5, 1.01, std::nan("")})
    EXPECT_THROW(ramp_transfer(Window::hann, cutoff, 64), InputError) << cutoff;
}

}  // namespace
}  // namespace halocline::ramp_test
