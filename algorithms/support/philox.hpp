// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1,
// 2, 3", section 3.3). The number at any place of any stream is a function of key and counter, so the order of work
// cannot matter.
#pragma once

#include <array>
#include <cstdint>

namespace halocline {

/// Four random words for a counter and a key.
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0], b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// A stream of uniform numbers that belongs to one item (a pixel) and one purpose under a seed.
class PhiloxStream {
 public:
  PhiloxStream(std::uint64_t seed, std::uint64_t item, std::uint32_t purpose)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        counter_{0, purpose, static_cast<std::uint32_t>(item), static_cast<std::uint32_t>(item >> 32)} {}

  /// Uniform in the open interval (0, 1), of 52 bits, symmetric about 1/2.
  double uniform() {
    if (left_ == 0) {
      words_ = philox4x32(counter_, key_);
      ++counter_[0];
      left_ = 4;
    }
    const std::uint64_t high = words_[4 - left_], low = words_[5 - left_];
    left_ -= 2;
    return (static_cast<double>((high << 32 | low) >> 12) + 0.5) * 0x1p-52;
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_, words_{};
  int left_ = 0;
};

}  // namespace halocline
