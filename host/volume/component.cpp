#include "host/volume/component.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "host/system/error.hpp"

namespace halocline {
namespace {

struct Half {
  std::uint16_t bits = 0;
};

constexpr double greatest_half = 65504;

constexpr const char* names[] = {"int8",  "uint8",  "int16",   "uint16",  "int32",  "uint32",
                                 "int64", "uint64", "float32", "float64", "float16"};

// Calls `action` with a value of the component's type.
template <typename Action>
auto with_type(Component component, Action action) {
  switch (component) {
    case Component::int8:
      return action(std::int8_t{});
    case Component::uint8:
      return action(std::uint8_t{});
    case Component::int16:
      return action(std::int16_t{});
    case Component::uint16:
      return action(std::uint16_t{});
    case Component::int32:
      return action(std::int32_t{});
    case Component::uint32:
      return action(std::uint32_t{});
    case Component::int64:
      return action(std::int64_t{});
    case Component::uint64:
      return action(std::uint64_t{});
    case Component::float32:
      return action(float{});
    case Component::float64:
      return action(double{});
    case Component::float16:
      return action(Half{});
  }
  throw std::logic_error("unknown component type");
}

template <typename T>
auto number(T value) {
  if constexpr (std::is_same_v<T, Half>)
    return float_from_half(value.bits);
  else
    return value;
}

template <typename T>
void convert(const void* from, bool swap_bytes, float* to, std::size_t count, const Scaling& scaling) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  const bool scaled = !scaling.identity();
  unsigned char one[sizeof(T)];
  T value;
  for (std::size_t n = 0; n < count; ++n, bytes += sizeof(T)) {
    if (swap_bytes) {
      std::reverse_copy(bytes, bytes + sizeof(T), one);
      std::memcpy(&value, one, sizeof(T));
    } else {
      std::memcpy(&value, bytes, sizeof(T));
    }
    to[n] = scaled ? static_cast<float>(scaling.slope * static_cast<double>(number(value)) + scaling.offset)
                   : static_cast<float>(number(value));
  }
}

// Rounds to the nearest whole number, ties to even, without a call of the library: adding 1.5 * 2^52 (2^23) leaves no
// bits for fractions of numbers below 2^51 (2^22).
double rounded(double value) {
  constexpr double shift = 6755399441055744.0;
  return value + shift - shift;
}
float rounded(float value) {
  constexpr float shift = 12582912.0f;
  return value + shift - shift;
}

// Whole numbers of one or two bytes, which are what volumes are stored in: without branches. Real is float where the
// values are taken as they are.
template <typename T, typename Real>
std::size_t convert_narrow(const float* from, unsigned char* to, std::size_t count, const Scaling& scaling) {
  constexpr Real low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max(), half = 0.5;
  constexpr std::size_t block = 1024;
  std::size_t changed = 0;
  T results[block];
  for (std::size_t done = 0; done < count; done += block) {
    const std::size_t now = std::min(block, count - done);
    std::uint32_t changed_here = 0;
    for (std::size_t n = 0; n < now; ++n) {
      Real value = from[done + n];
      if constexpr (std::is_same_v<Real, double>) value = (value - scaling.offset) / scaling.slope;
      // low is even and high odd: halfway below low is rounded to low, halfway above high to what is not there
      const bool above_low = value >= low - half, below_high = value < high + half;
      changed_here += (above_low & below_high) ? 0 : 1;
      Real inside = above_low ? value : low;
      inside = below_high ? inside : high;
      inside = value == value ? inside : 0;
      results[n] = static_cast<T>(static_cast<std::int32_t>(rounded(inside)));
    }
    std::memcpy(to + done * sizeof(T), results, now * sizeof(T));
    changed += changed_here;
  }
  return changed;
}

template <typename T>
T stored(double value, std::size_t& changed) {
  if constexpr (std::is_same_v<T, Half>) {
    const auto bits = half_from_float(static_cast<float>(value));
    if ((bits & 0x7fff) != 0x7c00) return {bits};
    ++changed;
    return {static_cast<std::uint16_t>((bits & 0x8000) | 0x7bff)};
  } else if constexpr (std::is_integral_v<T>) {
    constexpr double low = std::numeric_limits<T>::lowest();
    constexpr double beyond = 2.0 * static_cast<double>(T{1} << (std::numeric_limits<T>::digits - 1));
    const double whole = std::abs(value) < 2251799813685248.0 ? rounded(value) : value;
    const bool below = whole < low, above = whole >= beyond, none = whole != whole;
    changed += below || above || none ? 1 : 0;
    return below   ? std::numeric_limits<T>::lowest()
           : above ? std::numeric_limits<T>::max()
           : none  ? T{0}
                   : static_cast<T>(whole);
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
std::size_t convert(const float* from, void* to, std::size_t count, const Scaling& scaling) {
  auto* bytes = static_cast<unsigned char*>(to);
  const bool scaled = !scaling.identity();
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 2)
    return scaled ? convert_narrow<T, double>(from, bytes, count, scaling)
                  : convert_narrow<T, float>(from, bytes, count, scaling);
  std::size_t changed = 0;
  for (std::size_t n = 0; n < count; ++n, bytes += sizeof(T)) {
    const double value = scaled ? (static_cast<double>(from[n]) - scaling.offset) / scaling.slope : from[n];
    const T result = stored<T>(value, changed);
    std::memcpy(bytes, &result, sizeof(T));
  }
  return changed;
}

}  // namespace

std::size_t component_bytes(Component component) {
  return with_type(component, [](auto zero) { return sizeof(zero); });
}

std::string component_name(Component component) {
  return names[static_cast<int>(component)];
}

std::vector<std::string> component_names() {
  return {std::begin(names), std::end(names)};
}

Component component_named(const std::string& name) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names))
    throw InputError(fmt::format("'{}' is no type of voxels; the types are: {}", name, fmt::join(names, ", ")));
  return static_cast<Component>(found - std::begin(names));
}

Component integer_component(bool has_sign, std::size_t bytes) {
  switch (bytes) {
    case 1:
      return has_sign ? Component::int8 : Component::uint8;
    case 2:
      return has_sign ? Component::int16 : Component::uint16;
    case 4:
      return has_sign ? Component::int32 : Component::uint32;
    default:
      return has_sign ? Component::int64 : Component::uint64;
  }
}

bool is_integer(Component component) {
  return component != Component::float16 && component != Component::float32 && component != Component::float64;
}

double component_lowest(Component component) {
  return with_type(component, [](auto zero) {
    if constexpr (std::is_same_v<decltype(zero), Half>)
      return -greatest_half;
    else
      return static_cast<double>(std::numeric_limits<decltype(zero)>::lowest());
  });
}

double component_highest(Component component) {
  return with_type(component, [](auto zero) {
    if constexpr (std::is_same_v<decltype(zero), Half>)
      return greatest_half;
    else
      return static_cast<double>(std::numeric_limits<decltype(zero)>::max());
  });
}

void convert_to_float(Component component, const void* from, bool swap_bytes, float* to, std::size_t count,
                      const Scaling& scaling) {
  if (component == Component::float32 && !swap_bytes && scaling.identity()) {
    if (from != to) std::memcpy(to, from, count * sizeof(float));
    return;
  }
  with_type(component, [&](auto zero) { convert<decltype(zero)>(from, swap_bytes, to, count, scaling); });
}

void swap_bytes(Component component, void* values, std::size_t count) {
  auto* bytes = static_cast<unsigned char*>(values);
  const std::size_t size = component_bytes(component);
  for (std::size_t n = 0; n < count; ++n) std::reverse(bytes + n * size, bytes + (n + 1) * size);
}

std::size_t convert_from_float(Component component, const float* from, void* to, std::size_t count,
                               const Scaling& scaling) {
  if (component == Component::float32 && scaling.identity()) {
    if (from != to) std::memcpy(to, from, count * sizeof(float));
    return 0;
  }
  return with_type(component, [&](auto zero) { return convert<decltype(zero)>(from, to, count, scaling); });
}

std::uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000) {  // not a number
    half = 0x7e00;
  } else if (magnitude >= 0x47800000) {  // 65536 and more
    half = 0x7c00;
  } else if (magnitude < 0x38800000) {
    // Below 2^-14 halves are multiples of 2^-24, which is the step of float32 from 0.5 to 1: the addition rounds.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  } else {  // other exponent, 13 fraction bits less; a carry into the exponent is right, up to infinity
    half = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

float float_from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16, exponent = half >> 10 & 31,
                      fraction = half & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace halocline
