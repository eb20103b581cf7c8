#include "algorithms/denoisers/weight_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "algorithms/denoisers/denoise_method.hpp"
#include "host/component.hpp"

namespace halocline {
namespace {

constexpr float least_half = 0x1p-24f, largest_half = 65504;
constexpr std::uint32_t steps = 254;  // between codes 1 and 255

std::uint16_t half_of(float weight) {
  return weight > 0 ? half_from_float(std::clamp(weight, least_half, largest_half)) : std::uint16_t{0};
}

}  // namespace

WeightCode::WeightCode(int bits, double least, double largest)
    : bits_(bits),
      // the bits of numbers that are not normal do not grow with the logarithm
      least_(std::max(static_cast<float>(least), std::numeric_limits<float>::min())),
      largest_(std::max(static_cast<float>(largest), least_)),
      first_(std::bit_cast<std::uint32_t>(least_)),
      step_(std::max(1u, (std::bit_cast<std::uint32_t>(largest_) - first_ + steps - 1) / steps)) {}

double WeightCode::largest_change() const {
  if (bits_ == 32) return 0;
  // Half a step: relative to a number whose fraction is 1, the smallest in its octave, a bit of float32 is 2^-23.
  if (bits_ == 8) return step_ / 2 * 0x1p-23;
  return std::max({0x1p-11,                                             // half the last of ten bits
                   0x1p-25 / std::max(least_, least_half),              // below 2^-14 the last one is 2^-24
                   least_half / static_cast<double>(least_) - 1,        // below 2^-24
                   1 - largest_half / static_cast<double>(largest_)});  // above 65504
}

double WeightCode::convexity() const {
  return 1 / static_cast<double>(stored(largest_));
}

// The nearest.
std::uint8_t WeightCode::code(float weight) const {
  if (!(weight > 0)) return 0;
  const auto above = std::bit_cast<std::uint32_t>(std::clamp(weight, least_, largest_)) - first_;
  return static_cast<std::uint8_t>(1 + (above + step_ / 2) / step_);
}

void WeightCode::encode(const float* from, std::byte* to, std::size_t count) const {
  if (bits_ == 32) {
    std::memcpy(to, from, count * sizeof(float));
  } else if (bits_ == 16) {
    auto* halves = reinterpret_cast<std::uint16_t*>(to);
    for (std::size_t n = 0; n < count; ++n) halves[n] = half_of(from[n]);
  } else {
    for (std::size_t n = 0; n < count; ++n) to[n] = std::byte{code(from[n])};
  }
}

float WeightCode::stored(float weight) const {
  if (bits_ == 32 || !(weight > 0)) return weight;
  if (bits_ == 16) return float_from_half(half_of(weight));
  return std::bit_cast<float>((code(weight) - 1) * step_ + first_);
}

ArrayNeed WeightCode::array() const {
  ArrayNeed need = volume_array("w", Lifetime::input);
  need.element_bytes = bytes();
  if (bits_ != 32)
    need.encode = [code = *this](const float* from, std::byte* to, std::size_t count) { code.encode(from, to, count); };
  return need;
}

void WeightCode::push(std::vector<SlabArgument>& arguments) const {
  arguments.emplace_back(in("w"));
  if (bits_ == 8) arguments.insert(arguments.end(), {first_, step_});
}

std::string WeightCode::option() const {
  return fmt::format("-D WEIGHT_BITS={}", bits_);
}

}  // namespace halocline
