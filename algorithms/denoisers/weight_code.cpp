#include "algorithms/denoisers/weight_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "algorithms/denoisers/denoise_method.hpp"
#include "host/volume/component.hpp"

namespace halocline {
namespace {

constexpr float least_half = 0x1p-24f, largest_half = 65504;

std::uint16_t half_of(float weight) {
  return weight > 0 ? half_from_float(std::clamp(weight, least_half, largest_half)) : std::uint16_t{0};
}

}  // namespace

WeightCode::WeightCode(int bits, double least, double largest)
    : bits_(bits),
      least_(std::max(static_cast<float>(least), std::numeric_limits<float>::min())),
      largest_(std::max(static_cast<float>(largest), least_)) {}

double WeightCode::largest_change() const {
  if (bits_ == 32) return 0;
  return std::max({0x1p-11,                                             // half the last of ten bits
                   0x1p-25 / std::max(least_, least_half),              // below 2^-14 the last one is 2^-24
                   least_half / static_cast<double>(least_) - 1,        // below 2^-24
                   1 - largest_half / static_cast<double>(largest_)});  // above 65504
}

double WeightCode::convexity() const {
  return 1 / static_cast<double>(stored(largest_));
}

void WeightCode::encode(const float* from, std::byte* to, std::size_t count) const {
  if (bits_ == 32) {
    std::memcpy(to, from, count * sizeof(float));
  } else {
    auto* halves = reinterpret_cast<std::uint16_t*>(to);
    for (std::size_t n = 0; n < count; ++n) halves[n] = half_of(from[n]);
  }
}

float WeightCode::stored(float weight) const {
  return bits_ == 32 || !(weight > 0) ? weight : float_from_half(half_of(weight));
}

ArrayNeed WeightCode::array() const {
  ArrayNeed need = volume_array("w", Lifetime::input);
  need.element_bytes = bytes();
  if (bits_ != 32)
    need.encode = [code = *this](const float* from, std::byte* to, std::size_t count) { code.encode(from, to, count); };
  return need;
}

std::string WeightCode::option() const {
  return fmt::format("-D WEIGHT_BITS={}", bits_);
}

}  // namespace halocline
