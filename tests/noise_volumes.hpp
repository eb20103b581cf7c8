// Volumes of nothing but noise.
#pragma once

#include <array>
#include <cmath>
#include <random>

#include "host/volume.hpp"

namespace halocline {

/// Independent, Gaussian.
inline Volume white_noise(const std::array<std::size_t, 3>& size, double sigma, unsigned seed = 1) {
  Grid grid;
  grid.size = size;
  Volume volume(grid);
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0, sigma);
  for (auto& voxel : volume.voxels) voxel = static_cast<float>(normal(generator));
  return volume;
}

/// Each voxel and its neighbours along the first `axes` axes in shares 1 : 2 : 1, from face to face: they share the
/// noise, and its standard deviation stays.
inline Volume blurred(Volume volume, int axes) {
  const std::size_t strides[] = {1, volume.grid.size[0], volume.grid.slice()};
  for (int axis = 0; axis < axes; ++axis) {
    const Volume before = volume;
    for (std::size_t n = 0; n < volume.voxels.size(); ++n) {
      const std::size_t at = n / strides[axis] % volume.grid.size[axis], last = volume.grid.size[axis] - 1;
      const float low = before.voxels[at == 0 ? n + last * strides[axis] : n - strides[axis]];
      const float high = before.voxels[at == last ? n - last * strides[axis] : n + strides[axis]];
      volume.voxels[n] = (0.25f * low + 0.5f * before.voxels[n] + 0.25f * high) / std::sqrt(0.375f);
    }
  }
  return volume;
}

}  // namespace halocline
