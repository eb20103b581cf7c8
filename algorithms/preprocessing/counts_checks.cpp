#include <fmt/format.h>

#include <cmath>

#include "algorithms/preprocessing/calibrate_counts.hpp"
#include "algorithms/preprocessing/ring_reduction.hpp"
#include "host/system/error.hpp"

namespace halocline {

void require_same_detector(const Grid& image, const std::string& name, const Grid& counts,
                           const std::string& counts_name) {
  if (image.size[0] == counts.size[0] && image.size[1] == counts.size[1]) return;
  throw InputError(
      fmt::format("{}: the detector has {} x {} pixels, but {} x {} in {}; both must come from the same detector "
                  "with the same crop and binning",
                  name, image.size[0], image.size[1], counts.size[0], counts.size[1], counts_name));
}

void check_counts_options(const CountsOptions& options, const Grid& counts, bool with_flats, bool may_be_transmissions,
                          const std::string& counts_name) {
  if (!with_flats && !options.air && !may_be_transmissions)
    throw InputError(
        fmt::format("{}: what the beam alone gives is not known; give images without the object (`flats`), a region of "
                    "the detector that sees the beam alone in every view (`air`), or both; only transmissions from 0 "
                    "to 1 need neither",
                    counts_name));
  if (const double floor = options.floor.value_or(1); !(floor > 0) || !std::isfinite(floor))
    throw InputError(fmt::format("the floor of the counts (`floor`) is {}; it must be above 0", floor));
  if (options.saturation && !(*options.saturation > 0))
    throw InputError(
        fmt::format("the count of saturation (`saturation`) is {}; it must be above 0", *options.saturation));
  if (options.hardening.size() > most_hardening_coefficients)
    throw InputError(fmt::format("`hardening` has {} coefficients; expected at most {}", options.hardening.size(),
                                 most_hardening_coefficients));
  for (const double c : options.hardening)
    if (!std::isfinite(c))
      throw InputError(fmt::format("a coefficient of `hardening` is {}; it must be a finite number", c));
  if (!options.hardening.empty() && !(options.hardening.front() > 0))
    throw InputError(
        fmt::format("`hardening` begins with C1 = {}; it must be positive, or thin parts would not attenuate "
                    "(1 where the line integrals of thin parts are right)",
                    options.hardening.front()));
  for (const double c : options.hardening)
    if (std::abs(c) > 1e6)
      throw InputError(fmt::format("a coefficient of `hardening` is {:g}; no more than 1e+06 is expected", c));
  check_ring_width(options.ring_width, counts, counts_name);
  if (!options.air) return;
  const auto [u0, v0, u1, v1] = *options.air;
  if (u0 >= u1 || v0 >= v1)
    throw InputError(
        fmt::format("the air region {},{},{},{} (`air`) holds no pixel; expected U0,V0,U1,V1 with U0 < U1 and V0 < V1, "
                    "upper ends not included",
                    u0, v0, u1, v1));
  if (u1 > counts.size[0] || v1 > counts.size[1])
    throw InputError(
        fmt::format("the air region {},{},{},{} (`air`) reaches beyond the detector of {}, which has {} x "
                    "{} pixels",
                    u0, v0, u1, v1, counts_name, counts.size[0], counts.size[1]));
}

}  // namespace halocline
