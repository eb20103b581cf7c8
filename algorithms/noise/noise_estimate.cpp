#include "algorithms/noise/noise_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/noise/noise_details.hpp"
#include "algorithms/support/parallel_slices.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_places = std::size_t{1} << 19, most_windows = 512;

// White noise makes the excess 0.94 or so, with large smooth objects hardly more.
constexpr double correlated_from = 1.25;

// Texture brings the excess to 2 with white noise, too, but hardly the details' smoothness. Noise that was averaged
// a : 1 : a or by a Gaussian, or went through an FDK, has a smoothness (over all axes together) of ln(excess) / 2 or
// more as long as both are small; each axis saturates at 0.6 or so.
bool smooth_noise(double excess, double smoothness) {
  return smoothness > std::min(0.5, std::log(excess) / 2.5);
}

// Values measured in a window.
struct SeenWindow {
  std::vector<float> details;    // at places without edges
  double sigma = 0, excess = 0;  // 0: nothing
  std::array<std::array<double, 3>, 3> apart{};
};

// The median of values that `of` gives for each of some windows.
template <typename Of>
double median_over(const std::vector<SeenWindow>& seen, std::size_t count, const Of& of) {
  std::vector<double> values(count);
  for (std::size_t n = 0; n < count; ++n) values[n] = of(seen[n]);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Noise that was smoothed by a Gaussian correlates as q^(n^2) over n voxels; q where the squares of differences over
// one and over three voxels are as this. No more than what leaves half of the variance in differences over three.
double gaussian_correlation(double one_over_three) {
  double low = 0, high = 0.925;
  for (int n = 0; n < 40; ++n) {
    const double q = 0.5 * (low + high);
    ((1 - q) / (1 - std::pow(q, 9)) > one_over_three ? low : high) = q;
  }
  return low;
}

// The correlation along each axis, of the half of the windows that edges and texture change least, which are the first.
// Returns whether noise reaches over three voxels: then the windows' excess becomes that of voxels far apart. Shares
// below 10 % may be edges'.
bool take_correlation(std::vector<SeenWindow>& seen, NoiseEstimate& estimate) {
  constexpr double least_share = 0.1;
  const std::size_t half = (seen.size() + 1) / 2;
  std::array<double, 3> far{1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    const auto apart = [&](int lag) {
      return median_over(seen, half, [&](const SeenWindow& window) {
        const auto& sigma = window.apart[axis];
        return sigma[2] > 0 ? std::pow(sigma[lag] / sigma[2], 2) : 1;
      });
    };
    const double one = apart(0), two = apart(1), q = gaussian_correlation(one), share = std::pow(q, 9);
    estimate.correlation[axis] = {1 - one, 1 - two, 0, 0};
    if (share < least_share) continue;
    far[axis] = 1 - share;
    estimate.correlation[axis] = {1 - one * far[axis], 1 - two * far[axis], share, std::pow(q, 16)};
  }
  if (far == std::array<double, 3>{1, 1, 1}) return false;
  for (SeenWindow& window : seen) {
    double least = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double sigma = window.apart[axis][2] / std::sqrt(far[axis]);
      if (sigma > 0 && (least == 0 || sigma < least)) least = sigma;
    }
    window.excess = least / window.sigma;
  }
  return true;
}

void sort_by_excess(std::vector<SeenWindow>& seen) {
  std::sort(seen.begin(), seen.end(), [](const SeenWindow& a, const SeenWindow& b) { return a.excess < b.excess; });
}

// Middle of the windows, in order, that hold nothing but noise, if they are normally distributed. With such noise
// windows hold few independent values, and the lower quartile is well below their middle.
double middle_of_noise(const std::vector<SeenWindow>& seen) {
  constexpr double quartile = 0.6745, decile = 1.2816;  // of the normal distribution
  const double low = seen[seen.size() / 10].excess, high = seen[seen.size() / 4].excess;
  return high + (high - low) * quartile / (decile - quartile);
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
  std::vector<SeenWindow> seen((windows.count() + step - 1) / step);
  parallel_slices(seen.size(), [&](std::size_t n) {
    const auto found =
        look_at(volume, weights, stencil, windows.at(n * step), most_places / most_windows, Look::distances);
    seen[n].details = smooth_details(found.details, stencil.differences());
    // The lower quartile of the ratios would fall if they scattered more.
    auto details = smooth_details(found.details, stencil.differences(), EdgesOut::clear);
    const double sigma = median_sigma(details);
    if (!(2 * found.details.size() > found.looked_at && sigma > 0 && found.distant > 0)) return;
    seen[n].sigma = sigma;
    seen[n].excess = found.distant / sigma;
    seen[n].apart = found.apart;
  });
  // Window by window, so that parts with more noise than others do not pass for edges.
  std::vector<float> details;
  for (const auto& window : seen) details.insert(details.end(), window.details.begin(), window.details.end());
  if (details.empty()) details = smooth_details(all.details, stencil.differences());  // no window met the few there are
  estimate.sigma = median_sigma(details);
  std::erase_if(seen, [](const SeenWindow& window) { return window.excess == 0; });
  if (seen.empty()) return estimate;
  sort_by_excess(seen);
  estimate.excess = seen[seen.size() / 4].excess;
  double smoothness = 0;
  for (const auto& pairs : all.pairs) smoothness += detail_smoothness(pairs, all.details, stencil.differences());
  if (estimate.excess <= correlated_from || !smooth_noise(estimate.excess, smoothness)) return estimate;
  if (take_correlation(seen, estimate)) {
    sort_by_excess(seen);
    estimate.excess = middle_of_noise(seen);
  }
  estimate.correlated = true;
  estimate.sigma *= estimate.excess;
  return estimate;
}

bool holds_only_noise(const NoiseEstimate& estimate, const WindowNoise& window, double details) {
  // Limits for windows of noise alone: the two ratios scatter by 6 and by 11 to 17 %, so that 1 to 7 % of them are
  // below a limit; in lungs full of vessels three quarters are.
  constexpr double least_near = 0.85, least_distant = 0.65;
  for (int axis = 0; axis < 3 && estimate.correlated; ++axis) {
    const auto& sigma = window.apart[axis];
    if (sigma[2] == 0) continue;
    const double one = std::sqrt(1 - estimate.correlation[axis][0]),
                 three = std::sqrt(1 - estimate.correlation[axis][2]);
    if (sigma[0] * three < least_near * one * sigma[2]) return false;
    if (sigma[2] < least_distant * three * estimate.excess * details) return false;
  }
  return true;
}

}  // namespace halocline
