// labels: unit
// Types of stored voxels: values that a type can hold are preserved, the rest is rounded and clamped as documented.
#include "host/volume/component.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::component_test {
namespace {

const float infinity = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();

struct Stored {
  std::vector<float> back;  // as read again
  std::size_t changed;
};

Stored there_and_back(Component component, const std::vector<float>& values, const Scaling& scaling = {}) {
  std::vector<unsigned char> bytes(values.size() * component_bytes(component) + 1);
  Stored result{std::vector<float>(values.size()), 0};
  // one byte off: nothing need be aligned
  result.changed = convert_from_float(component, values.data(), bytes.data() + 1, values.size(), scaling);
  convert_to_float(component, bytes.data() + 1, false, result.back.data(), values.size(), scaling);
  return result;
}

TEST(Component, NamesAreRead) {
  for (const auto& name : component_names()) EXPECT_EQ(component_name(component_named(name)), name);
  EXPECT_EQ(component_names().size(), 11u);
  EXPECT_THAT(refusal_of([&] { component_named("uint12"); }),
              testing::AllOf(testing::HasSubstr("uint12"), testing::HasSubstr("uint16")));
}

TEST(Component, WholeNumbersComeBack) {
  for (const auto& name : component_names()) {
    SCOPED_TRACE(name);
    const Component component = component_named(name);
    std::vector<float> values;
    // what float32 and the type both have without rounding
    const double most = std::min(component_highest(component), component == Component::float16 ? 2048.0 : 16777216.0);
    for (double value = std::max(component_lowest(component), -most); value <= most; value += most > 5000 ? 97 : 1)
      values.push_back(static_cast<float>(value));
    values.push_back(static_cast<float>(most));
    ASSERT_GT(values.size(), 100u);
    const auto stored = there_and_back(component, values);
    EXPECT_EQ(stored.back, values);
    EXPECT_EQ(stored.changed, 0u);
  }
}

TEST(Component, RoundsToNearestAndTiesToEven) {
  const std::vector<float> values{0.49f, 0.5f, 0.51f, 1.5f, 2.5f, 99.49f, 99.5f, 100.5f, 126.4f},
      rounded{0, 0, 1, 2, 2, 99, 100, 100, 126};
  std::vector<float> negative, negative_rounded;
  for (std::size_t n = 0; n < values.size(); ++n) {
    negative.push_back(-values[n]);
    negative_rounded.push_back(-rounded[n]);
  }
  for (const auto& name : component_names()) {
    const Component component = component_named(name);
    if (!is_integer(component)) continue;
    EXPECT_EQ(integer_component(component_lowest(component) < 0, component_bytes(component)), component);
    SCOPED_TRACE(name);
    const auto stored = there_and_back(component, values);
    EXPECT_EQ(stored.back, rounded);
    EXPECT_EQ(stored.changed, 0u);
    if (component_lowest(component) < 0) {
      EXPECT_EQ(there_and_back(component, negative).back, negative_rounded);
    }
  }
}

TEST(Component, ClampsAndCounts) {
  struct Case {
    Component component;
    std::vector<float> values, expected;
    std::size_t changed;
  };
  const Case cases[] = {
      {Component::uint8,
       {-0.4f, -0.6f, 255.4f, 255.6f, 1e9f, -infinity, infinity, none, 7},
       {0, 0, 255, 255, 255, 0, 255, 0, 7},
       6},
      {Component::int8, {-128.4f, -129, 127.4f, 127.6f, none}, {-128, -128, 127, 127, 0}, 3},
      {Component::int16, {-32768, -32769, 32767, 32768, 3e38f}, {-32768, -32768, 32767, 32767, 32767}, 3},
      {Component::uint16, {-1, 65535, 65536, 65534.6f}, {0, 65535, 65535, 65535}, 2},
      {Component::int32,
       {-2147483648.0f, -3e9f, 2147483520.0f, 2147483648.0f},
       {-2147483648.0f, -2147483648.0f, 2147483520.0f, 2147483648.0f},
       2},
      {Component::uint32, {-1, 4294967040.0f, 4294967296.0f}, {0, 4294967040.0f, 4294967296.0f}, 2},
      {Component::int64,
       {-9223372036854775808.0f, -1e19f, 9223371487098961920.0f, 1e19f},
       {-9223372036854775808.0f, -9223372036854775808.0f, 9223371487098961920.0f, 9223372036854775808.0f},
       2},
      {Component::uint64,
       {-1, 18446742974197923840.0f, 2e19f},
       {0, 18446742974197923840.0f, 18446744073709551616.0f},
       2},
      {Component::float16, {65504, 65519, 65520, -1e6f, infinity}, {65504, 65504, 65504, -65504, 65504}, 3},
      {Component::float64, {1e38f, -infinity}, {1e38f, -infinity}, 0}};
  for (const auto& c : cases) {
    SCOPED_TRACE(component_name(c.component));
    const auto stored = there_and_back(c.component, c.values);
    EXPECT_EQ(stored.back, c.expected);
    EXPECT_EQ(stored.changed, c.changed);
  }
}

TEST(Component, ScalingIsUndone) {
  const Scaling scaling{0.0001, -0.5};
  std::vector<float> values;
  for (int n = 0; n <= 255; ++n) values.push_back(static_cast<float>(0.0001 * n - 0.5));
  const auto stored = there_and_back(Component::uint8, values, scaling);
  EXPECT_EQ(stored.back, values);
  EXPECT_EQ(stored.changed, 0u);
  EXPECT_EQ(there_and_back(Component::uint8, {-0.51f, 0.0f}, scaling).changed, 2u);
  const Scaling upside_down{-2, 10};
  EXPECT_EQ(there_and_back(Component::uint8, {10, 0, -500}, upside_down).back, (std::vector<float>{10, 0, -500}));
}

TEST(Component, OtherByteOrder) {
  const std::vector<float> values{1, 2, 258, 4000};
  for (const auto component : {Component::int16, Component::int32, Component::float64, Component::float16}) {
    std::vector<unsigned char> bytes(4 * component_bytes(component));
    convert_from_float(component, values.data(), bytes.data(), 4);
    swap_bytes(component, bytes.data(), 4);
    std::vector<float> back(4);
    convert_to_float(component, bytes.data(), true, back.data(), 4);
    EXPECT_EQ(back, values);
  }
}

// Every value near a border of rounding, against the library's rounding.
TEST(Component, NarrowTypesRoundLikeTheLibrary) {
  for (const auto component : {Component::uint8, Component::int8, Component::int16, Component::uint16}) {
    const double low = component_lowest(component), high = component_highest(component);
    std::vector<float> values;
    for (double whole = low - 3; whole <= high + 3;
         whole += high > 1000 && std::abs(whole) > 50 && whole < high - 50 ? 41 : 1)
      for (const double fraction : {0.0, 0.25, 0.5, 0.75}) {
        const auto value = static_cast<float>(whole + fraction);
        values.insert(values.end(), {std::nextafter(value, -infinity), value, std::nextafter(value, infinity)});
      }
    for (const double slope : {1.0, -0.5}) {
      const Scaling scaling{slope, slope == 1 ? 0.0 : 2};
      std::vector<float> scaled, expected;
      std::size_t changed = 0;
      for (const float value : values) {
        scaled.push_back(static_cast<float>(slope * value + scaling.offset));
        const double stored = std::nearbyint((static_cast<double>(scaled.back()) - scaling.offset) / slope);
        changed += stored < low || stored > high ? 1 : 0;
        expected.push_back(static_cast<float>(slope * std::clamp(stored, low, high) + scaling.offset));
      }
      const auto found = there_and_back(component, scaled, scaling);
      EXPECT_EQ(found.back, expected) << component_name(component) << " " << slope;
      EXPECT_EQ(found.changed, changed) << component_name(component) << " " << slope;
    }
  }
}

// The value of a half from its definition.
double value_of_half(unsigned half) {
  const int exponent = static_cast<int>(half >> 10 & 31);
  const double fraction = half & 1023, sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  if (exponent == 31) return fraction == 0 ? sign * infinity : none;
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(Component, EveryHalfComesBack) {
  for (unsigned half = 0; half < 65536; ++half) {
    const float value = float_from_half(static_cast<std::uint16_t>(half));
    const double expected = value_of_half(half);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << half;
      EXPECT_EQ(half_from_float(value) & 0x7fff, 0x7e00) << half;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << half;
    ASSERT_EQ(half_from_float(value), half);
    ASSERT_EQ(std::signbit(value), half >= 0x8000);
  }
}

TEST(Component, HalvesAreTheNearest) {
  for (unsigned half = 0; half < 0x7bff; ++half) {  // this and the next, both finite
    const double low = value_of_half(half), high = value_of_half(half + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // exact
    const unsigned even = half % 2 == 0 ? half : half + 1;
    ASSERT_EQ(half_from_float(middle), even) << half;
    ASSERT_EQ(half_from_float(std::nextafter(middle, infinity)), half + 1);
    ASSERT_EQ(half_from_float(std::nextafter(middle, -infinity)), half);
    ASSERT_EQ(half_from_float(-middle), even | 0x8000);
  }
  EXPECT_EQ(half_from_float(1e-30f), 0);
  EXPECT_EQ(half_from_float(70000), 0x7c00);
}

}  // namespace
}  // namespace halocline::component_test
