#include "algorithms/noise/noise_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <vector>

#include "algorithms/noise/noise_details.hpp"
#include "algorithms/noise/noise_estimate.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "algorithms/support/volume_sample.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr std::size_t places_of_map = std::size_t{1} << 22;
// Relative difference of the map's RMS from the estimate for the whole volume below which noise is much the same
// everywhere, and that estimate is the more precise.
constexpr double same_everywhere = 0.05;

// One value a window.
struct Coarse {
  std::array<std::size_t, 3> size;
  std::vector<float> values;
  float at(std::size_t i, std::size_t j, std::size_t k) const { return values[i + size[0] * (j + size[1] * k)]; }
};

// Median over each window and the two beside it along every axis, of those that hold noise; at the volume's faces along
// the face only, or windows further in would count twice. A window without noise keeps 0.
Coarse median_of_neighbours(const Coarse& coarse) {
  Coarse out = coarse;
  const std::size_t strides[] = {1, coarse.size[0], coarse.size[0] * coarse.size[1]};
  std::vector<float> around;
  for (std::size_t n = 0; n < out.values.size(); ++n) {
    if (!(coarse.values[n] > 0)) continue;
    around.assign(1, coarse.values[n]);
    for (int axis = 0; axis < 3; ++axis) {
      const std::size_t at = n / strides[axis] % coarse.size[axis];
      if (at == 0 || at + 1 == coarse.size[axis]) continue;
      for (const float value : {coarse.values[n - strides[axis]], coarse.values[n + strides[axis]]})
        if (value > 0) around.push_back(value);
    }
    // the lower of two: edges and texture only ever add
    const auto middle = around.begin() + static_cast<std::ptrdiff_t>((around.size() - 1) / 2);
    std::nth_element(around.begin(), middle, around.end());
    out.values[n] = *middle;
  }
  return out;
}

// Other facts of a window.
struct Content {
  double mean = 0;  // grey value
  bool only_noise = false;
};

double mean_of(const Volume& volume, const NoiseWindow& window) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t k = window.first[2]; k < window.first[2] + window.size[2]; ++k)
    for (std::size_t j = window.first[1]; j < window.first[1] + window.size[1]; ++j)
      for (std::size_t i = window.first[0]; i < window.first[0] + window.size[0]; ++i)
        if (const float value = volume.at(i, j, k); std::isfinite(value)) sum += value, ++count;
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

// Limits structure where neighbours share noise: there the map magnifies what structure leaves in the details of some
// windows. These get at most one and a half times the variance that nine tenths of those have which hold only noise and
// are at least as dense: air may be quieter than what it surrounds. Where these are too few, there is no limit.
void limit_structure(Coarse& coarse, const std::vector<Content>& contents) {
  constexpr float most = 1.5f;
  constexpr std::size_t least_count = 20;
  std::vector<std::size_t> windows(contents.size());
  std::iota(windows.begin(), windows.end(), std::size_t{0});
  std::sort(windows.begin(), windows.end(),
            [&](std::size_t a, std::size_t b) { return contents[a].mean > contents[b].mean; });
  std::multiset<float> lower, upper;  // variances of noise as dense as the next window: nine tenths, and the rest
  for (const std::size_t n : windows) {
    float& value = coarse.values[n];
    if (!(value > 0)) continue;
    if (!contents[n].only_noise) {
      if (lower.size() + upper.size() >= least_count) value = std::min(value, most * *lower.rbegin());
      continue;
    }
    lower.insert(value);
    upper.insert(lower.extract(std::prev(lower.end())));
    if (9 * upper.size() > lower.size() + 9) lower.insert(upper.extract(upper.begin()));
  }
}

// Place of a voxel among the windows' centres along an axis.
struct Place {
  std::size_t low = 0, high = 0;
  double part = 0;  // beyond the outer centres below 0 or above 1
  std::size_t nearest() const { return part > 0.5 ? high : low; }
  bool outside() const { return part < 0 || part > 1; }
};
std::vector<Place> places_along(const NoiseWindows& windows, int axis, std::size_t voxels) {
  const std::size_t count = windows.counts()[axis];
  std::vector<Place> places(voxels);
  for (std::size_t n = 0; n < voxels && count > 1; ++n) {
    const double position = (static_cast<double>(n) - windows.centre(axis)) / windows.step(axis);
    const auto low = std::min(static_cast<std::size_t>(std::max(0.0, position)), count - 2);
    places[n] = {low, low + 1, position - static_cast<double>(low)};
  }
  return places;
}

// Linear between the windows' centres, and beyond the outer ones within a factor of 1.5.
Volume spread(const Coarse& coarse, const NoiseWindows& windows, const Grid& grid) {
  Volume out(grid);
  const auto along_x = places_along(windows, 0, grid.size[0]), along_y = places_along(windows, 1, grid.size[1]),
             along_z = places_along(windows, 2, grid.size[2]);
  parallel_slices(grid.size[2], [&](std::size_t k) {
    const Place& z = along_z[k];
    for (std::size_t j = 0; j < grid.size[1]; ++j) {
      const Place& y = along_y[j];
      const auto column = [&](std::size_t x) {
        const double low = (1 - y.part) * coarse.at(x, y.low, z.low) + y.part * coarse.at(x, y.high, z.low);
        const double high = (1 - y.part) * coarse.at(x, y.low, z.high) + y.part * coarse.at(x, y.high, z.high);
        return (1 - z.part) * low + z.part * high;
      };
      for (std::size_t i = 0; i < grid.size[0]; ++i) {
        const Place& x = along_x[i];
        double value = (1 - x.part) * column(x.low) + x.part * column(x.high);
        if (x.outside() || y.outside() || z.outside()) {
          const double nearest = coarse.at(x.nearest(), y.nearest(), z.nearest());
          value = std::clamp(value, nearest / 1.5, 1.5 * nearest);
        }
        out.at(i, j, k) = static_cast<float>(value);
      }
    }
  });
  return out;
}

void summarise(NoiseMap& map) {
  double sum = 0;
  std::size_t noisy = 0;
  for (const float value : map.variance.voxels) {
    sum += value;
    noisy += value > 0 ? 1 : 0;
  }
  const auto [least, most] = std::minmax_element(map.variance.voxels.begin(), map.variance.voxels.end());
  map.sigma = std::sqrt(sum / static_cast<double>(noisy));
  map.least = std::sqrt(*least);
  map.most = std::sqrt(*most);
}

}  // namespace

NoiseMap noise_map(const Volume& volume) {
  check_scale(sample_volume(MemorySource(volume)), "the volume");
  const auto estimate = estimate_noise(volume);
  if (!(estimate.sigma > 0))
    throw InputError("no noise can be measured in the volume: it is constant, or a single voxel");
  const double scale = estimate.correlated ? estimate.excess : 1;
  // Noise that neighbours share has fewer independent differences, so that the smoothest are further from the usual.
  const EdgesOut edges = estimate.correlated ? EdgesOut::clear : EdgesOut::faint;
  const DetailStencil stencil(volume.grid);
  const NoiseWindows windows(volume.grid);
  const std::size_t places = std::max<std::size_t>(500, places_of_map / windows.count());  // each is in eight windows
  Coarse coarse{windows.counts(), std::vector<float>(windows.count())};
  std::vector<Content> contents(windows.count());
  parallel_slices(windows.count(), [&](std::size_t n) {
    const auto found =
        look_at(volume, nullptr, stencil, windows.at(n), places, estimate.correlated ? Look::distances : Look::details);
    auto details = smooth_details(found.details, stencil.differences(), edges);
    const double sigma = median_sigma(details);
    coarse.values[n] = static_cast<float>(scale * sigma * scale * sigma);
    if (estimate.correlated) contents[n] = {mean_of(volume, windows.at(n)), holds_only_noise(estimate, found, sigma)};
  });
  if (estimate.correlated) limit_structure(coarse, contents);
  NoiseMap map;
  map.variance = spread(median_of_neighbours(coarse), windows, volume.grid);
  map.correlated = estimate.correlated;
  map.how = "estimated from the volume alone";
  if (estimate.correlated) map.how += fmt::format(", times {:.3g} for noise that neighbours share", scale * scale);
  summarise(map);
  const double precise = estimate.sigma / map.sigma;
  if (std::abs(precise - 1) < same_everywhere) {
    for (float& value : map.variance.voxels) value = static_cast<float>(value * precise * precise);
    summarise(map);
  }
  return map;
}

NoiseMap noise_map(const Volume& a, const Volume& b, const std::string& name_a, const std::string& name_b) {
  require_same_grid(a.grid, name_a, b.grid, name_b);
  check_scale(sample_volume(MemorySource(a)), name_a);
  check_scale(sample_volume(MemorySource(b)), name_b);
  const Grid& grid = a.grid;
  const NoiseWindows windows(grid);
  Coarse coarse{windows.counts(), std::vector<float>(windows.count())};
  parallel_slices(windows.count(), [&](std::size_t n) {
    const NoiseWindow window = windows.at(n);
    std::vector<float> differences;
    for (std::size_t k = window.first[2]; k < window.first[2] + window.size[2]; ++k)
      for (std::size_t j = window.first[1]; j < window.first[1] + window.size[1]; ++j)
        for (std::size_t i = window.first[0]; i < window.first[0] + window.size[0]; ++i) {
          const float difference = std::abs(a.at(i, j, k) - b.at(i, j, k)) / 2;
          if (std::isfinite(difference) && difference > 0) differences.push_back(difference);
        }
    const double sigma = median_sigma(differences);
    coarse.values[n] = static_cast<float>(sigma * sigma);
  });
  if (std::none_of(coarse.values.begin(), coarse.values.end(), [](float value) { return value > 0; }))
    throw InputError(
        fmt::format("{} and {} are the same everywhere, so their difference tells no noise: give reconstructions of "
                    "different views",
                    name_a, name_b));
  NoiseMap map;
  map.variance = spread(coarse, windows, grid);
  map.how = "from the difference of the two halves";
  summarise(map);
  return map;
}

}  // namespace halocline
