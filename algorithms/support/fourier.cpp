#include "algorithms/support/fourier.hpp"

#include <bit>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace halocline {

void fourier_transform(std::vector<std::complex<double>>& values) {
  const std::size_t count = values.size();
  if (!std::has_single_bit(count)) throw std::logic_error("fourier_transform: the length is no power of two");
  for (std::size_t n = 1, reversed = 0; n < count; ++n) {
    std::size_t bit = count >> 1;
    for (; reversed & bit; bit >>= 1) reversed ^= bit;
    reversed ^= bit;
    if (n < reversed) std::swap(values[n], values[reversed]);
  }
  std::vector<std::complex<double>> roots(count / 2);
  for (std::size_t n = 0; n < roots.size(); ++n)
    roots[n] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(count));
  for (std::size_t half = 1; half < count; half *= 2)
    for (std::size_t start = 0; start < count; start += 2 * half)
      for (std::size_t n = 0; n < half; ++n) {
        const auto odd = roots[n * (count / 2 / half)] * values[start + half + n];
        values[start + half + n] = values[start + n] - odd;
        values[start + n] += odd;
      }
}

}  // namespace halocline
