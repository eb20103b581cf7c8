#include "algorithms/noise_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace halocline {
namespace {

constexpr std::size_t most_samples = std::size_t{1} << 19;

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
  return {robust_sigma(samples), static_cast<double>(samples.size()) / static_cast<double>(looked_at)};
}

}  // namespace halocline
