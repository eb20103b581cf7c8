#include "algorithms/solvers/ray_weights.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/system/error.hpp"

namespace halocline {

WeightsOfCounts::WeightsOfCounts(const VolumeSource& line_integrals, double photons, double electronic)
    : line_integrals_(line_integrals), photons_(photons), electronic2_(electronic * electronic) {
  if (!(photons > 0) || !std::isfinite(photons))
    throw InputError({.what = "`photons`", .found = fmt::format("{:g}", photons), .expected = "a positive number"});
  if (!(electronic >= 0) || !std::isfinite(electronic))
    throw InputError({.what = "`electronic`", .found = fmt::format("{:g}", electronic), .expected = "0 or more"});
}

void WeightsOfCounts::read(std::size_t first, std::size_t count, float* to) const {
  line_integrals_.read(first, count, to);
  for (std::size_t n = 0; n < count; ++n) {
    const double counts = photons_ * std::exp(-static_cast<double>(to[n]));
    to[n] = static_cast<float>(counts * counts / (counts + electronic2_));
  }
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
