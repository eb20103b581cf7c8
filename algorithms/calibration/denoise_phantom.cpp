#include "algorithms/calibration/denoise_phantom.hpp"

#include <cmath>
#include <vector>

#include "algorithms/noise/noise.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

constexpr std::uint32_t white_noise = 2;  // its streams are not those of the detector's noise

// Grid in the world's order of axes: index n/2 is at the isocentre.
Grid cube(std::size_t n) {
  Grid grid;
  grid.size = {n, n, n};
  grid.origin.fill(-0.5 * static_cast<double>(n));
  check_grid(grid, "the test volume");
  return grid;
}

}  // namespace

Volume denoise_phantom(std::size_t n, double noise, std::uint64_t seed, const Volume* weights) {
  const Grid grid = cube(n);
  Volume volume = voxelise(two_balls(static_cast<double>(n), 1), grid, 1);
  if (noise == 0) return volume;
  parallel_slices(n, [&](std::size_t z) {
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
  Volume volume(cube(n));
  std::vector<double> row(n);
  double sum = 0;
  for (std::size_t x = 0; x < n; ++x)
    sum += row[x] = std::pow(70.0, static_cast<double>(x) / static_cast<double>(n) - 0.5);
  for (std::size_t i = 0; i < volume.voxels.size(); ++i)
    volume.voxels[i] = static_cast<float>(row[i % n] * static_cast<double>(n) / sum);
  return volume;
}

}  // namespace halocline
