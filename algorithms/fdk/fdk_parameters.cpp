#include "algorithms/fdk/fdk_parameters.hpp"

#include <fmt/format.h>

#include "host/system/error.hpp"

namespace halocline {

Component stored_as(const FdkParameters& parameters) {
  return parameters.counts && parameters.counts->stored == Component::uint16 ? Component::uint16 : Component::float32;
}

void check_fdk_parameters(const FdkParameters& parameters) {
  if (!(parameters.pad >= 0 && parameters.pad <= 1))
    throw InputError(
        fmt::format("truncated rows are to go on by {} of their length (`pad`); it must be 0 to 1", parameters.pad));
  if (!(parameters.cutoff > 0 && parameters.cutoff <= 1))
    throw InputError(
        fmt::format("the filter's cut-off is {}; it must be a fraction of the highest frequency, above 0 and at most 1",
                    parameters.cutoff));
  if (!parameters.variance) return;
  const auto [photons, electronic] = *parameters.variance;
  constexpr double most_photons = 1e15, most_noise = 1e9;  // so that float32 holds what is made of them
  if (!(photons > 0 && photons <= most_photons))
    throw InputError(
        fmt::format("the number of photons a pixel (or a count) is {:g}; it must be positive, and no more "
                    "than {:g}",
                    photons, most_photons));
  if (!(electronic >= 0 && electronic <= most_noise))
    throw InputError(fmt::format("the electronic noise is {:g}; it must be a standard deviation in photons, 0 to {:g}",
                                 electronic, most_noise));
}

}  // namespace halocline
