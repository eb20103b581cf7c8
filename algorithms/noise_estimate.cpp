#include "algorithms/noise_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace halocline {
namespace {

constexpr std::size_t most_samples = std::size_t{1} << 19;
// Above this ratio of the two estimates the noise is taken for correlated; edges alone reach 1.2 or so.
constexpr double correlated_from = 1.5;

// A product of short filters along the axes, each of norm 1: of white noise it keeps the standard deviation.
struct Tap {
  std::size_t offset;  // from the stencil's first voxel
  double factor;
};
using Filter = std::vector<Tap>;

// Second differences along all axes (first ones along those with two voxels); and, along every axis with three, a first
// difference of sums along the others. They are orthogonal to the former, so that choosing places by them does not bias
// what is measured.
struct Stencil {
  std::array<std::size_t, 3> extent{1, 1, 1};
  Filter detail;
  std::vector<Filter> gradients;
};

Filter product(const Grid& grid, const std::array<std::vector<double>, 3>& factors) {
  const std::size_t strides[] = {1, grid.size[0], grid.slice()};
  Filter filter{{0, 1.0}};
  for (int axis = 0; axis < 3; ++axis) {
    Filter longer;
    for (const auto& tap : filter)
      for (std::size_t n = 0; n < factors[axis].size(); ++n)
        longer.push_back({tap.offset + n * strides[axis], tap.factor * factors[axis][n]});
    filter = longer;
  }
  return filter;
}

Stencil stencil_for(const Grid& grid) {
  const double third = std::sqrt(1.0 / 3), half = std::sqrt(0.5), sixth = std::sqrt(1.0 / 6);
  Stencil stencil;
  std::array<std::vector<double>, 3> differences, sums;
  for (int axis = 0; axis < 3; ++axis) {
    stencil.extent[axis] = std::min<std::size_t>(3, grid.size[axis]);
    if (stencil.extent[axis] == 3) {
      differences[axis] = {sixth, -2 * sixth, sixth};
      sums[axis] = {third, third, third};
    } else if (stencil.extent[axis] == 2) {
      differences[axis] = {-half, half};
      sums[axis] = {half, half};
    } else {
      differences[axis] = sums[axis] = {1};
    }
  }
  stencil.detail = product(grid, differences);
  for (int axis = 0; axis < 3; ++axis) {
    if (stencil.extent[axis] < 3) continue;
    auto factors = sums;
    factors[axis] = {-half, 0, half};
    stencil.gradients.push_back(product(grid, factors));
  }
  return stencil;
}

double apply(const Filter& filter, const float* at) {
  double sum = 0;
  for (const auto& tap : filter) sum += tap.factor * at[tap.offset];
  return sum;
}

struct Sample {
  float detail, gradient;  // absolute values
};

// From the details at places without edges: there the sums change no more than noise makes them. The first guess, over
// all places, is too large; each round drops more edges.
double robust_sigma(const std::vector<Sample>& samples) {
  double sigma = std::numeric_limits<double>::infinity();
  std::vector<float> details;
  for (int round = 0; round < 6; ++round) {
    details.clear();
    for (const auto& sample : samples)
      if (sample.gradient <= 2.5 * sigma) details.push_back(sample.detail);
    if (details.empty()) break;
    const auto middle = details.begin() + static_cast<std::ptrdiff_t>(details.size() / 2);
    std::nth_element(details.begin(), middle, details.end());
    sigma = *middle / 0.67448975;
  }
  return std::isfinite(sigma) ? sigma : 0;
}

// Noise that neighbours share escapes second differences, but hardly any scanner's is shared over three voxels: the
// median absolute difference at that distance, of the axis along which the object changes least. Edges make it a little
// too large, so it only counts where second differences see much less. 0 if no axis is long enough.
double distant_sigma(const Volume& volume, const Volume* weights) {
  constexpr std::size_t distance = 3;
  const Grid& grid = volume.grid;
  const std::size_t strides[] = {1, grid.size[0], grid.slice()};
  const std::size_t step = (grid.count() / most_samples + 1) | 1;
  double least = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (grid.size[axis] < 4 * distance) continue;
    const std::size_t apart = distance * strides[axis];
    std::vector<float> differences;
    for (std::size_t n = 0; n + apart < grid.count(); n += step) {
      if (n / strides[axis] % grid.size[axis] + distance >= grid.size[axis]) continue;
      double difference = std::abs(static_cast<double>(volume.voxels[n + apart]) - volume.voxels[n]);
      if (weights != nullptr) {
        const double sum = static_cast<double>(weights->voxels[n]) + weights->voxels[n + apart];
        difference = sum > 0 ? difference * std::sqrt(2 / sum) : 0;
      }
      if (difference > 0 && std::isfinite(difference)) differences.push_back(static_cast<float>(difference));
    }
    if (differences.empty()) continue;
    const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
    std::nth_element(differences.begin(), middle, differences.end());
    const double sigma = *middle / 0.67448975 / std::sqrt(2.0);
    if (least == 0 || sigma < least) least = sigma;
  }
  return least;
}

}  // namespace

NoiseEstimate estimate_noise(const Volume& volume, const Volume* weights) {
  const Grid& grid = volume.grid;
  const Stencil stencil = stencil_for(grid);
  if (stencil.detail.size() == 1) return {};
  std::array<std::size_t, 3> places;
  for (int axis = 0; axis < 3; ++axis) places[axis] = grid.size[axis] - stencil.extent[axis] + 1;
  const std::size_t count = places[0] * places[1] * places[2];
  // odd, so that samples of volumes with even sizes do not line up in columns
  const std::size_t step = count <= most_samples ? 1 : (count / most_samples + 1) | 1;
  std::vector<Sample> samples;
  std::size_t looked_at = 0;
  for (std::size_t n = 0; n < count; n += step) {
    const std::size_t i = n % places[0], j = n / places[0] % places[1], k = n / places[0] / places[1];
    const std::size_t first = i + grid.size[0] * (j + grid.size[1] * k);
    const float* at = volume.voxels.data() + first;
    ++looked_at;
    const bool uniform = std::all_of(stencil.detail.begin(), stencil.detail.end(),
                                     [&](const Tap& tap) { return at[tap.offset] == at[0]; });
    double scale = 1;
    if (weights != nullptr) {
      const float weight = weights->voxels[first + stencil.detail[stencil.detail.size() / 2].offset];
      scale = weight > 0 ? 1 / std::sqrt(static_cast<double>(weight)) : 0;
    }
    const double detail = scale * std::abs(apply(stencil.detail, at));
    if (uniform || scale == 0 || !std::isfinite(detail)) continue;
    double gradient = 0;
    for (const auto& filter : stencil.gradients) gradient = std::max(gradient, scale * std::abs(apply(filter, at)));
    samples.push_back({static_cast<float>(detail), static_cast<float>(gradient)});
  }
  if (samples.empty()) return {};
  NoiseEstimate estimate;
  estimate.sigma = robust_sigma(samples);
  estimate.active_fraction = static_cast<double>(samples.size()) / static_cast<double>(looked_at);
  const double distant = distant_sigma(volume, weights);
  if (estimate.sigma > 0 && distant > correlated_from * estimate.sigma) {
    estimate.correlated = true;
    estimate.sigma = distant;
  }
  return estimate;
}

}  // namespace halocline
