// Values for trials of kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halocline {

/// Number n of values that are spread evenly over [0, 1) (multiplicative hashing: Knuth, The Art of Computer
/// Programming 3, section 6.4).
inline float trial_value(std::size_t n) {
  return static_cast<float>(static_cast<std::uint32_t>(n * 2654435761u + 12345u) >> 8) / 16777216.0f;
}

}  // namespace halocline
