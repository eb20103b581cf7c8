#include "algorithms/noise_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/noise_details.hpp"
#include "algorithms/parallel_slices.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_places = std::size_t{1} << 19, most_windows = 512;

// White noise makes the excess 0.94 or so, with large smooth objects hardly more.
constexpr double correlated_from = 1.25;

// Texture brings the excess to 2 with white noise, too, but hardly the details' smoothness. Noise that was averaged
// a : 1 : a or by a Gaussian, or went through an FDK, has a smoothness (over all axes together) of ln(excess) / 2 or
// more as long as both are small; each axis comes to its end at 0.6 or so.
bool smooth_noise(double excess, double smoothness) {
  return smoothness > std::min(0.5, std::log(excess) / 2.5);
}

// What is seen in a window.
struct Seen {
  std::vector<float> details;  // at places without edges
  double excess = 0;           // 0: nothing
  std::array<std::array<double, 2>, 3> correlation{};
};

std::array<std::array<double, 2>, 3> correlation_of(const WindowNoise& found) {
  std::array<std::array<double, 2>, 3> result{};
  for (int axis = 0; axis < 3; ++axis)
    for (int lag = 0; lag < 2; ++lag)
      if (found.apart[axis][2] > 0) result[axis][lag] = 1 - std::pow(found.apart[axis][lag] / found.apart[axis][2], 2);
  return result;
}

// The details at places spread over the whole volume, slab by slab.
WindowNoise look_everywhere(const Volume& volume, const Volume* weights, const DetailStencil& stencil) {
  const auto& size = volume.grid.size;
  const int axis = size[2] > 2 ? 2 : size[1] > 2 ? 1 : 0;  // along which it is cut
  const std::size_t layers = size[axis] - stencil.extent()[axis] + 1;
  const std::size_t parts = std::min<std::size_t>(16, layers);
  std::vector<WindowNoise> found(parts);
  parallel_slices(parts, [&](std::size_t n) {
    NoiseWindow window{{0, 0, 0}, size};
    window.first[axis] = n * layers / parts;
    window.size[axis] = (n + 1) * layers / parts - window.first[axis] + stencil.extent()[axis] - 1;
    found[n] = look_at(volume, weights, stencil, window, most_places / parts, Look::pairs);
  });
  WindowNoise all;
  for (const auto& part : found) {
    all.details.insert(all.details.end(), part.details.begin(), part.details.end());
    all.looked_at += part.looked_at;
    for (int along = 0; along < 3; ++along)
      all.pairs[along].insert(all.pairs[along].end(), part.pairs[along].begin(), part.pairs[along].end());
  }
  return all;
}

}  // namespace

NoiseEstimate estimate_noise(const Volume& volume, const Volume* weights) {
  const DetailStencil stencil(volume.grid);
  if (!stencil.any()) return {};
  const auto all = look_everywhere(volume, weights, stencil);
  if (all.details.empty()) return {};
  NoiseEstimate estimate;
  estimate.places = all.details.size();
  estimate.active_fraction = static_cast<double>(all.details.size()) / static_cast<double>(all.looked_at);

  const NoiseWindows windows(volume.grid);
  // odd, so that windows of lattices with even sizes do not line up in columns
  const std::size_t step = windows.count() <= most_windows ? 1 : (windows.count() / most_windows + 1) | 1;
  std::vector<Seen> seen((windows.count() + step - 1) / step);
  parallel_slices(seen.size(), [&](std::size_t n) {
    const auto found =
        look_at(volume, weights, stencil, windows.at(n * step), most_places / most_windows, Look::distances);
    seen[n].details = smooth_details(found.details, stencil.differences());
    // The lower quartile of the ratios would fall if they scattered more.
    auto details = smooth_details(found.details, stencil.differences(), EdgesOut::clear);
    const double sigma = median_sigma(details);
    if (!(2 * found.details.size() > found.looked_at && sigma > 0 && found.distant > 0)) return;
    seen[n].excess = found.distant / sigma;
    seen[n].correlation = correlation_of(found);
  });
  // Window by window, so that parts with more noise than others do not pass for edges.
  std::vector<float> details;
  for (const auto& window : seen) details.insert(details.end(), window.details.begin(), window.details.end());
  if (details.empty()) details = smooth_details(all.details, stencil.differences());  // no window met the few there are
  estimate.sigma = median_sigma(details);
  std::erase_if(seen, [](const Seen& window) { return window.excess == 0; });
  if (seen.empty()) return estimate;
  std::sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) { return a.excess < b.excess; });
  estimate.excess = seen[seen.size() / 4].excess;
  double smoothness = 0;
  for (const auto& pairs : all.pairs) smoothness += detail_smoothness(pairs, all.details, stencil.differences());
  if (estimate.excess <= correlated_from || !smooth_noise(estimate.excess, smoothness)) return estimate;
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
