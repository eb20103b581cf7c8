#include "algorithms/calibration/denoise_phantom.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/noise/noise.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

constexpr std::uint32_t white_noise = 2;  // its streams are not those of the detector's noise

using Sizes = std::array<std::size_t, 3>;

double longest(const Sizes& size) {
  return static_cast<double>(*std::max_element(size.begin(), size.end()));
}

// Grid in the world's order of axes: index n/2 is at the isocentre. stretched: as wide along all axes as along the
// longest of voxels of 1 mm.
Grid centred(const Sizes& size, bool stretched) {
  Grid grid;
  grid.size = size;
  for (int axis = 0; axis < 3; ++axis) {
    const auto n = static_cast<double>(size[axis]);
    if (stretched && n > 0) grid.spacing[axis] = longest(size) / n;
    grid.origin[axis] = -0.5 * n * grid.spacing[axis];
  }
  check_grid(grid, "the test volume");
  return grid;
}

}  // namespace

Volume denoise_phantom(std::size_t n, double noise, std::uint64_t seed, const Volume* weights) {
  return denoise_phantom(Sizes{n, n, n}, noise, seed, weights);
}

Volume denoise_phantom(const Sizes& size, double noise, std::uint64_t seed, const Volume* weights) {
  const Grid grid = centred(size, false);
  Volume volume = voxelise(two_balls(longest(size), 1), centred(size, true), 1);
  volume.grid = grid;
  if (noise == 0) return volume;
  parallel_slices(size[2], [&](std::size_t z) {
    check_interrupt();
    for (std::size_t i = z * grid.slice(); i < (z + 1) * grid.slice(); ++i) {
      PhiloxStream random(seed, i, white_noise);
      const double scale = weights != nullptr ? std::sqrt(static_cast<double>(weights->voxels[i])) : 1;
      volume.voxels[i] = static_cast<float>(volume.voxels[i] + noise * scale * standard_normal(random));
    }
  });
  return volume;
}

Volume ramp_weights(std::size_t n) {
  return ramp_weights(Sizes{n, n, n});
}

Volume ramp_weights(const Sizes& size) {
  Volume volume(centred(size, false));
  const std::size_t n = size[0];
  std::vector<double> row(n);
  double sum = 0;
  for (std::size_t x = 0; x < n; ++x)
    sum += row[x] = std::pow(70.0, static_cast<double>(x) / static_cast<double>(n) - 0.5);
  for (std::size_t i = 0; i < volume.voxels.size(); ++i)
    volume.voxels[i] = static_cast<float>(row[i % n] * static_cast<double>(n) / sum);
  return volume;
}

}  // namespace halocline
