// Volumes of noise.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "host/volume/volume.hpp"

namespace halocline {

/// Independent, Gaussian.
inline Volume white_noise(const std::array<std::size_t, 3>& size, double sigma, unsigned seed = 1) {
  Grid grid{.size = size};
  Volume volume(grid);
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0, sigma);
  for (auto& voxel : volume.voxels) voxel = static_cast<float>(normal(generator));
  return volume;
}

/// n x n x n voxels between 0 and 1, quickly made.
inline Volume noisy_volume(std::size_t n) {
  Grid grid{.size = {n, n, n}};
  Volume volume(grid);
  for (std::size_t i = 0; i < volume.voxels.size(); ++i)
    volume.voxels[i] = static_cast<float>((i * 2654435761u >> 8) % 1000) / 1000.0f;
  return volume;
}

/// A step across x, and noise.
inline Volume noisy_step(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing = {1, 1, 1},
                         double noise = 0.1) {
  Volume volume(Grid{.size = size, .spacing = spacing});
  std::mt19937 generator(21);
  std::normal_distribution<double> normal;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = static_cast<float>((3 * (n % size[0]) > size[0] ? 1 : 0) + noise * normal(generator));
  return volume;
}

/// Ones with round holes of these radii, as many as leave 0.4 of it solid: a finely structured object.
inline Volume foam(const std::array<std::size_t, 3>& size, double least_radius, double most_radius, unsigned seed = 1) {
  Grid grid{.size = size};
  Volume volume(grid, 1);
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::size_t solid = volume.voxels.size();
  while (solid > 2 * volume.voxels.size() / 5) {
    std::array<double, 3> centre;
    for (int axis = 0; axis < 3; ++axis) centre[axis] = share(generator) * (static_cast<double>(size[axis]) - 1);
    const double radius = least_radius + (most_radius - least_radius) * share(generator);
    std::array<std::size_t, 3> begin, end;  // of the voxels around the hole
    for (int axis = 0; axis < 3; ++axis) {
      begin[axis] = static_cast<std::size_t>(std::max(0.0, std::floor(centre[axis] - radius)));
      end[axis] = std::min(size[axis], static_cast<std::size_t>(centre[axis] + radius) + 2);
    }
    for (std::size_t k = begin[2]; k < end[2]; ++k)
      for (std::size_t j = begin[1]; j < end[1]; ++j)
        for (std::size_t i = begin[0]; i < end[0]; ++i) {
          const double x = static_cast<double>(i) - centre[0], y = static_cast<double>(j) - centre[1],
                       z = static_cast<double>(k) - centre[2];
          float& voxel = volume.at(i, j, k);
          if (x * x + y * y + z * z >= radius * radius || voxel == 0) continue;
          voxel = 0;
          --solid;
        }
  }
  return volume;
}

/// Each voxel and its neighbours along the first `axes` axes in shares 1 : 2 : 1, from face to face: they share the
/// noise, and its standard deviation is unchanged.
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
