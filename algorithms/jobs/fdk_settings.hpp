// Settings of filtered back-projection and of the noise that its variance is made of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/fdk/fdk_parameters.hpp"
#include "algorithms/jobs/settings.hpp"

namespace halocline {

/// How projections are filtered and read.
struct FilterSettings {
  std::string algorithm = "direct", window = "ram-lak", interpolation = "exact";
  double cutoff = 1, pad = 0;
  std::vector<double> filter;  // in place of the ramp
  std::string filter_file;     // that it came from
  bool displaced = false, no_displaced = false, allow_incomplete_arc = false;

  FdkParameters parameters() const;
  /// "window hann with cut-off 0.8"
  std::string text() const;
};

/// volume: for fdk, which alone offers `algorithm` and `interpolation = half`.
void add_filter_settings(Settings& settings, FilterSettings& filter, bool volume);

/// The noise of projections, for the variance of what is made of them.
struct NoiseSettings {
  std::optional<double> photons, photons_per_count;
  double electronic = 0;

  /// "2.5 photons a count and electronic noise 3"
  std::string text() const;
  /// Noise of pixels of which each was `pixels` in the file.
  FdkParameters::Noise noise(bool counts, double pixels) const;
  /// Throws InputError if something is missing or serves nothing. wanted: there is a variance to be made. purpose: its
  /// name, for messages.
  void check(bool counts, bool wanted, const std::string& purpose) const;
};

void add_noise_settings(Settings& settings, NoiseSettings& noise);

/// How Slices of line integrals are made.
struct SlicesSettings {
  FilterSettings filter;
  NoiseSettings noise;
  bool variance = false;  // in place of the values

  void add_to(Settings& settings);
  /// Throws InputError as NoiseSettings::check() does.
  FdkParameters parameters() const;
};

}  // namespace halocline
