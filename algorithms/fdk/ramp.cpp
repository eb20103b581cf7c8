#include "algorithms/fdk/ramp.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "host/system/error.hpp"

namespace halocline {
namespace {

using std::numbers::pi;

/// Frequency of bin n in [0, pi].
double frequency(std::size_t n, std::size_t length) {
  return 2 * pi * static_cast<double>(std::min(n, length - n)) / static_cast<double>(length);
}

/// Discrete Fourier transform of a real, even sequence, which is real, even and, but for a factor, its own inverse.
/// Direct sums: done once a run, and exact to the last digits.
std::vector<double> cosine_transform(std::span<const double> values) {
  const std::size_t length = values.size(), half = length / 2;
  std::vector<double> cosine(length);
  for (std::size_t n = 0; n < length; ++n)
    cosine[n] = std::cos(2 * pi * static_cast<double>(n) / static_cast<double>(length));
  std::vector<double> out(length);
  for (std::size_t k = 0; k <= half; ++k) {
    double sum = values[0];
    for (std::size_t n = 1, at = k; n <= half; ++n, at = (at + k) % length)
      if (values[n] != 0) sum += (2 * n == length ? 1 : 2) * values[n] * cosine[at];
    out[k] = sum;
    if (k > 0) out[length - k] = sum;
  }
  return out;
}

void multiply_by_window(std::vector<double>& transfer, Window window, double cutoff) {
  if (!(cutoff > 0 && cutoff <= 1))
    throw InputError(fmt::format(
        "the filter's cut-off is {}; it must be a fraction of the highest frequency, above 0 and at most 1", cutoff));
  for (std::size_t n = 0; n < transfer.size(); ++n)
    transfer[n] *= window_value(window, cutoff, frequency(n, transfer.size()));
}

}  // namespace

const std::vector<std::string>& window_names() {
  static const std::vector<std::string> names{"ram-lak", "shepp-logan", "cosine", "hamming", "hann"};
  return names;
}

Window window_from_name(const std::string& name) {
  const auto& names = window_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw InputError(
        fmt::format("there is no filter window \"{}\"; it must be one of {}", name, fmt::join(names, ", ")));
  return static_cast<Window>(found - names.begin());
}

double window_value(Window window, double cutoff, double w) {
  const double x = w / cutoff;
  if (x > pi * (1 + 1e-12)) return 0;
  switch (window) {
    case Window::ram_lak:
      return 1;
    case Window::shepp_logan:
      return x == 0 ? 1 : std::sin(x / 2) / (x / 2);
    case Window::cosine:
      return std::cos(x / 2);
    case Window::hamming:
      return 0.54 + 0.46 * std::cos(x);
    case Window::hann:
      return 0.5 * (1 + std::cos(x));
  }
  return 1;
}

std::vector<double> ramp_transfer(Window window, double cutoff, std::size_t length) {
  std::vector<double> kernel(length, 0.0);
  kernel[0] = 0.25;
  for (std::size_t n = 1; n <= length / 2; n += 2) {
    const double value = -1 / (pi * pi * static_cast<double>(n) * static_cast<double>(n));
    kernel[n] = kernel[length - n] = value;
  }
  std::vector<double> transfer = cosine_transform(kernel);
  multiply_by_window(transfer, window, cutoff);
  return transfer;
}

std::vector<double> sampled_transfer(std::span<const double> samples, Window window, double cutoff,
                                     std::size_t length) {
  std::vector<double> transfer(length);
  for (std::size_t n = 0; n < length; ++n) {
    const double at = 2.0 * static_cast<double>(std::min(n, length - n)) * static_cast<double>(samples.size() - 1) /
                      static_cast<double>(length);
    const auto before = static_cast<std::size_t>(at), after = std::min(before + 1, samples.size() - 1);
    transfer[n] = samples[before] + (at - static_cast<double>(before)) * (samples[after] - samples[before]);
  }
  multiply_by_window(transfer, window, cutoff);
  return transfer;
}

std::vector<double> kernel_of_transfer(std::span<const double> transfer) {
  std::vector<double> kernel = cosine_transform(transfer);
  for (double& value : kernel) value /= static_cast<double>(transfer.size());
  return kernel;
}

std::vector<double> squared_transfer(std::span<const double> transfer) {
  std::vector<double> kernel = kernel_of_transfer(transfer);
  for (double& value : kernel) value *= value;
  return cosine_transform(kernel);
}

double neighbour_correlation(std::span<const double> transfer) {
  double product = 0, power = 0;
  for (std::size_t n = 0; n < transfer.size(); ++n) {
    product += transfer[n] * transfer[n] * std::cos(frequency(n, transfer.size()));
    power += transfer[n] * transfer[n];
  }
  return product / power;
}

}  // namespace halocline
