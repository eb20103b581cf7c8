#include "apps/options/noise_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "apps/job/validators.hpp"
#include "host/system/error.hpp"

namespace halocline {

std::string NoiseOptions::text() const {
  return fmt::format("{:.6g} photons{} and electronic noise {:.6g}", photons.value_or(photons_per_count),
                     photons ? "" : " a count", electronic);
}

void add_noise_options(CLI::App& app, NoiseOptions& options, CLI::Option* counts, const std::string& what,
                       const std::string& type) {
  const std::string group = "Noise of the volume";
  app.add_option("--variance-out", options.output, what)->type_name(type)->group(group);
  app.add_option(
         "--photons", options.photons,
         "Photons a pixel (before --bin) of the unattenuated beam; required with --variance-out, but for --counts")
      ->check(positive_number())
      ->type_name("I0")
      ->group(group);
  options.per_count = app.add_option("--photons-per-count", options.photons_per_count,
                                     "With --counts: photons that a count stands for (default 1), for --variance-out")
                          ->needs(counts)
                          ->check(positive_number())
                          ->type_name("N")
                          ->group(group);
  app.add_option("--electronic", options.electronic,
                 "Standard deviation of the electronic noise of a pixel (before --bin), photons")
      ->check(not_negative())
      ->type_name("S")
      ->group(group);
}

void check_noise_options(const NoiseOptions& options, bool counts) {
  if (counts && options.photons)
    throw InputError(
        "--photons is not for --counts, which tell the noise themselves; leave it out (and give --photons-per-count if "
        "a count is not a photon)");
  if (!options.wanted() && options.per_count != nullptr && options.per_count->count() > 0)
    throw InputError("--photons-per-count requires --variance-out");
  if (options.wanted() && !counts && !options.photons)
    throw InputError(fmt::format(
        "--photons is missing: {} needs the number of photons a pixel of the unattenuated beam", options.purpose()));
  if (!options.wanted() && (options.photons || options.electronic > 0))
    throw InputError("--photons and --electronic describe the noise for --variance-out, which is missing");
}

FdkParameters::Noise noise_of(const NoiseOptions& options, bool counts, double pixels) {
  // The mean of n line integrals is as noisy as one with n times the photons; of n counts the photons are in their sum.
  return {counts ? options.photons_per_count : *options.photons * pixels, options.electronic * std::sqrt(pixels)};
}

}  // namespace halocline
