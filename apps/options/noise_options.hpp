// --variance-out, and the settings of the noise that it is made of.
#pragma once

#include <string>

#include "algorithms/jobs/fdk_settings.hpp"

namespace halocline {

struct NoiseOptions : NoiseSettings {
  std::string output;        // --variance-out; empty: none
  bool for_weights = false;  ///< variances are wanted, whether they are written or not

  bool wanted() const { return !output.empty() || for_weights; }
  /// Throws InputError if something is missing or serves nothing.
  void check(bool counts) const {
    NoiseSettings::check(counts, wanted(), output.empty() && for_weights ? "--denoise spdu" : "--variance-out");
  }
};

/// about, type: of --variance-out.
void add_variance_option(Settings& settings, NoiseOptions& options, const std::string& about, const std::string& type);

}  // namespace halocline
