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

// What is seen in a window.
struct Seen {
  double excess;
  std::array<std::array<double, 2>, 3> correlation;
};

std::array<std::array<double, 2>, 3> correlation_of(const WindowNoise& found) {
  std::array<std::array<double, 2>, 3> result{};
  for (int axis = 0; axis < 3; ++axis)
    for (int lag = 0; lag < 2; ++lag)
      if (found.apart[axis][2] > 0) result[axis][lag] = 1 - std::pow(found.apart[axis][lag] / found.apart[axis][2], 2);
  return result;
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
  std::vector<Seen> seen;
  for (std::size_t n = 0; n < windows.count(); n += step) {
    const auto found = look_at(volume, weights, stencil, windows.at(n), most_places / most_windows);
    const double sigma = robust_sigma(found.details, stencil.gradients());
    if (2 * found.details.size() > found.looked_at && sigma > 0 && found.distant > 0)
      seen.push_back({found.distant / sigma, correlation_of(found)});
  }
  if (seen.empty()) return estimate;
  std::sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) { return a.excess < b.excess; });
  estimate.excess = seen[seen.size() / 4].excess;
  if (estimate.excess <= correlated_from) return estimate;
  estimate.correlated = true;
  estimate.sigma *= estimate.excess;
  // of the half of the windows that edges and texture change least
  std::vector<double> values((seen.size() + 1) / 2);
  for (int axis = 0; axis < 3; ++axis)
    for (int lag = 0; lag < 2; ++lag) {
      for (std::size_t n = 0; n < values.size(); ++n) values[n] = seen[n].correlation[axis][lag];
      const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
      std::nth_element(values.begin(), middle, values.end());
      estimate.correlation[axis][lag] = *middle;
    }
  return estimate;
}

}  // namespace halocline
