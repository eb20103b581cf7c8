#include "algorithms/fdk/fdk_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/system/error.hpp"

namespace halocline {

Component stored_as(const FdkParameters& parameters) {
  return parameters.counts && parameters.counts->stored == Component::uint16 ? Component::uint16 : Component::float32;
}

std::vector<double> transfer_of(const FdkParameters& parameters, std::size_t length) {
  return parameters.filter.empty() ? ramp_transfer(parameters.window, parameters.cutoff, length)
                                   : sampled_transfer(parameters.filter, parameters.window, parameters.cutoff, length);
}

namespace {

void check_filter(const std::vector<double>& filter) {
  constexpr double greatest = 1e6;  // so that float32 holds what is made of it
  if (filter.empty()) return;
  if (filter.size() < 2)
    throw InputError(
        {.what = "`filter`", .found = "one value", .expected = "two or more, from frequency 0 to the highest"});
  for (std::size_t n = 0; n < filter.size(); ++n)
    if (!(std::abs(filter[n]) <= greatest))
      throw InputError(
          {.what = "`filter`",
           .found = fmt::format("{} as value {}", filter[n], n),
           .expected = fmt::format("finite numbers of at most {:g}; those of the ramp go to 0.5", greatest)});
  if (std::all_of(filter.begin(), filter.end(), [](double value) { return value == 0; }))
    throw InputError({.what = "`filter`", .found = "zeros alone", .expected = "a filter that passes something"});
}

}  // namespace

void check_fdk_parameters(const FdkParameters& parameters) {
  if (!(parameters.pad >= 0 && parameters.pad <= 1))
    throw InputError(
        fmt::format("truncated rows are to go on by {} of their length (`pad`); it must be 0 to 1", parameters.pad));
  if (!(parameters.cutoff > 0 && parameters.cutoff <= 1))
    throw InputError(
        fmt::format("the filter's cut-off is {}; it must be a fraction of the highest frequency, above 0 and at most 1",
                    parameters.cutoff));
  check_filter(parameters.filter);
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
