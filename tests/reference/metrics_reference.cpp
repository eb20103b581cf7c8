#include "tests/reference/metrics_reference.hpp"

#include <algorithm>
#include <cmath>

namespace halocline::reference {

double structural_similarity(const Volume& image, const Volume& reference) {
  const auto [low, high] = std::minmax_element(reference.voxels.begin(), reference.voxels.end());
  const double range = static_cast<double>(*high) - *low;
  const double c1 = std::pow(0.01 * range, 2), c2 = std::pow(0.03 * range, 2);
  long size[3], begin[3], end[3];
  for (int a = 0; a < 3; ++a) {
    size[a] = static_cast<long>(image.grid.size[a]);
    begin[a] = size[a] >= 11 ? 5 : 0;
    end[a] = size[a] >= 11 ? size[a] - 5 : size[a];
  }
  double total = 0;
  long positions = 0;
  for (long z = begin[2]; z < end[2]; ++z)
    for (long y = begin[1]; y < end[1]; ++y)
      for (long x = begin[0]; x < end[0]; ++x) {
        const auto over_window = [&](const auto& value) {
          double sum = 0, weights = 0;
          for (long k = std::max(0L, z - 5); k <= std::min(size[2] - 1, z + 5); ++k)
            for (long j = std::max(0L, y - 5); j <= std::min(size[1] - 1, y + 5); ++j)
              for (long i = std::max(0L, x - 5); i <= std::min(size[0] - 1, x + 5); ++i) {
                const double square = std::pow(i - x, 2) + std::pow(j - y, 2) + std::pow(k - z, 2);
                const double weight = std::exp(-square / (2 * 1.5 * 1.5));
                sum +=
                    weight * value(static_cast<double>(image.at(i, j, k)), static_cast<double>(reference.at(i, j, k)));
                weights += weight;
              }
          return sum / weights;
        };
        const double mean_a = over_window([](double a, double) { return a; });
        const double mean_b = over_window([](double, double b) { return b; });
        const double var_a = over_window([&](double a, double) { return (a - mean_a) * (a - mean_a); });
        const double var_b = over_window([&](double, double b) { return (b - mean_b) * (b - mean_b); });
        const double cov = over_window([&](double a, double b) { return (a - mean_a) * (b - mean_b); });
        total += (2 * mean_a * mean_b + c1) * (2 * cov + c2) /
                 ((mean_a * mean_a + mean_b * mean_b + c1) * (var_a + var_b + c2));
        ++positions;
      }
  return total / static_cast<double>(positions);
}

double peak_signal_to_noise(const Volume& image, const Volume& reference) {
  double sum = 0, peak = reference.voxels[0];
  for (std::size_t n = 0; n < image.voxels.size(); ++n) {
    sum += std::pow(static_cast<double>(image.voxels[n]) - reference.voxels[n], 2);
    peak = std::max<double>(peak, reference.voxels[n]);
  }
  return 10 * std::log10(peak * peak / (sum / static_cast<double>(image.voxels.size())));
}

double correlation(const Volume& image, const Volume& reference) {
  long double a = 0, b = 0, aa = 0, bb = 0, ab = 0;
  const auto n = static_cast<long double>(image.voxels.size());
  for (std::size_t i = 0; i < image.voxels.size(); ++i) {
    const long double p = image.voxels[i], q = reference.voxels[i];
    a += p;
    b += q;
    aa += p * p;
    bb += q * q;
    ab += p * q;
  }
  return static_cast<double>((ab - a * b / n) / std::sqrt((aa - a * a / n) * (bb - b * b / n)));
}

}  // namespace halocline::reference
