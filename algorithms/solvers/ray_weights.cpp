#include "algorithms/solvers/ray_weights.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/system/error.hpp"
#include "host/system/thread_pool.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

Volume weights_of_counts(const Volume& line_integrals, double photons, double electronic) {
  if (!(photons > 0) || !std::isfinite(photons))
    throw InputError({.what = "`photons`", .found = fmt::format("{:g}", photons), .expected = "a positive number"});
  if (!(electronic >= 0) || !std::isfinite(electronic))
    throw InputError({.what = "`electronic`", .found = fmt::format("{:g}", electronic), .expected = "0 or more"});
  Volume weights = Volume::uninitialised(line_integrals.grid);
  parallel_ranges(weights.voxels.size(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    for (std::size_t n = first; n < first + count; ++n) {
      const double counts = photons * std::exp(-static_cast<double>(line_integrals.voxels[n]));
      weights.voxels[n] = static_cast<float>(counts * counts / (counts + electronic * electronic));
    }
  });
  return weights;
}

double open_beam(const CountsCalibration& calibration) {
  double open = 0, beam = 0;
  for (const auto& pixel : calibration.pixels) open += pixel.open;
  for (const float each : calibration.beams) beam += each;
  const auto pixels = static_cast<double>(calibration.pixels.size()),
             views = static_cast<double>(calibration.beams.size());
  return (pixels > 0 ? open / pixels : 1) * (views > 0 ? beam / views : 1);
}

}  // namespace halocline
