// --variance-out --photons --photons-per-count --electronic: the noise of projections, for the variance of what is made
// of them.
#pragma once

#include <optional>
#include <string>

#include "algorithms/fdk/fdk.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace halocline {

struct NoiseOptions {
  std::string output;  // --variance-out; empty: none
  double electronic = 0, photons_per_count = 1;
  std::optional<double> photons;
  CLI::Option* per_count = nullptr;
  bool for_weights = false;  ///< variances are wanted, whether they are written or not

  bool wanted() const { return !output.empty() || for_weights; }
  /// What the variances are for.
  const char* purpose() const { return output.empty() && for_weights ? "--denoise spdu" : "--variance-out"; }
  /// "2.5 photons a count and electronic noise 3"
  std::string text() const;
};

/// `counts`: the option --counts; `what`, `type`: of --variance-out.
void add_noise_options(CLI::App& app, NoiseOptions& options, CLI::Option* counts, const std::string& what,
                       const std::string& type);

/// Throws InputError if something is missing or serves nothing.
void check_noise_options(const NoiseOptions& options, bool counts);

/// That of pixels of which each was `pixels` in the file.
FdkParameters::Noise noise_of(const NoiseOptions& options, bool counts, double pixels);

}  // namespace halocline
