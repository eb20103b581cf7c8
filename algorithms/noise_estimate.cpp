#include "algorithms/noise_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/noise_details.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_places = std::size_t{1} << 19, most_windows = 512;

// Edges alone hardly bring the excess there, but in the smallest volumes; white noise makes it 0.94 or so.
constexpr double correlated_from = 1.25;

double lower_quartile(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

NoiseEstimate estimate_noise(const Volume& volume, const Volume* weights) {
  const DetailStencil stencil(volume.grid);
  if (!stencil.any()) return {};
  const auto all = look_at(volume, weights, stencil, {{0, 0, 0}, volume.grid.size}, most_places);
  if (all.details.empty()) return {};
  NoiseEstimate estimate;
  estimate.sigma = robust_sigma(all.details, stencil.gradients());
  estimate.active_fraction = static_cast<double>(all.details.size()) / static_cast<double>(all.looked_at);

  const NoiseWindows windows(volume.grid);
  // odd, so that windows of lattices with even sizes do not line up in columns
  const std::size_t step = windows.count() <= most_windows ? 1 : (windows.count() / most_windows + 1) | 1;
  std::vector<double> ratios;
  for (std::size_t n = 0; n < windows.count(); n += step) {
    const auto found = look_at(volume, weights, stencil, windows.at(n), most_places / most_windows);
    const double sigma = robust_sigma(found.details, stencil.gradients());
    if (2 * found.details.size() > found.looked_at && sigma > 0 && found.distant > 0)
      ratios.push_back(found.distant / sigma);
  }
  if (!ratios.empty()) estimate.excess = lower_quartile(std::move(ratios));
  if (estimate.excess > correlated_from) {
    estimate.correlated = true;
    estimate.sigma *= estimate.excess;
  }
  return estimate;
}

}  // namespace halocline
