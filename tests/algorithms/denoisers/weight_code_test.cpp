// labels: unit
#include "algorithms/denoisers/weight_code.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "host/volume/component.hpp"

namespace halocline::weight_code_test {
namespace {

// Logarithmic over `octaves` octaves about 1.
std::vector<float> spread(double octaves) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> uniform(-octaves / 2, octaves / 2);
  std::vector<float> weights{static_cast<float>(std::exp2(-octaves / 2)), static_cast<float>(std::exp2(octaves / 2))};
  for (int n = 0; n < 100000; ++n) weights.push_back(static_cast<float>(std::exp2(uniform(generator))));
  return weights;
}

class Spread : public testing::TestWithParam<double> {};

TEST_P(Spread, NoWeightChangesByMoreThanIsSaid) {
  const auto weights = spread(GetParam());
  const WeightCode code(16, weights[0], weights[1]);
  double most = 0;
  for (const float weight : weights) {
    const float stored = code.stored(weight);
    ASSERT_GT(stored, 0) << weight;
    most = std::max(most, std::abs(static_cast<double>(stored) - weight) / weight);
  }
  EXPECT_LE(most, code.largest_change());
  EXPECT_GT(most, 0.9 * code.largest_change());  // 100000 of them come close
}

INSTANTIATE_TEST_SUITE_P(Octaves, Spread, testing::Values(0.5, 1.0, 7.0, 20.0, 40.0, 60.0), [](const auto& octaves) {
  return "tenths_" + std::to_string(std::lround(10 * octaves.param));
});

TEST(WeightCode, OneWeightForAllIsKept) {
  for (const int bits : {32, 16}) {
    const WeightCode code(bits, 1, 1);
    EXPECT_EQ(code.stored(1), 1);
    EXPECT_EQ(code.convexity(), 1);
  }
}

// 0 says that no view saw the voxel, so that no other weight may become 0, nor infinite.
TEST(WeightCode, WhatAHalfCannotHoldBecomesTheNearestThatItCan) {
  const WeightCode code(16, 1e-9, 1e6);
  const std::vector<std::pair<float, float>> cases{{0, 0},         {1e-9f, 0x1p-24f}, {0x1p-24f, 0x1p-24f},
                                                   {1, 1},         {1e6f, 65504},     {65504, 65504},
                                                   {65519, 65504}, {65520, 65504}};
  for (const auto& [weight, expected] : cases) {
    EXPECT_EQ(code.stored(weight), expected) << weight;
    std::uint16_t half = 0;
    code.encode(&weight, reinterpret_cast<std::byte*>(&half), 1);
    EXPECT_EQ(float_from_half(half), expected) << weight;
  }
  EXPECT_EQ(code.convexity(), 1.0 / 65504);
  EXPECT_NEAR(code.largest_change(), 0x1p-24 / 1e-9 - 1, 1e-4);
  EXPECT_NEAR(WeightCode(16, 1, 1e6).largest_change(), 1 - 65504 / 1e6, 1e-9);
}

TEST(WeightCode, DeclaresTheBytesItWrites) {
  for (const int bits : {32, 16}) {
    const auto need = WeightCode(bits, 0.1, 3).array();
    EXPECT_EQ(need.element_bytes, static_cast<std::size_t>(bits / 8));
    EXPECT_EQ(need.lifetime, Lifetime::input);
    EXPECT_EQ(static_cast<bool>(need.encode), bits != 32);
  }
}

}  // namespace
}  // namespace halocline::weight_code_test
