// Projections that are a detector's counts, for the verbs that take them.
#pragma once

#include <memory>
#include <optional>

#include "algorithms/jobs/counts_settings.hpp"
#include "algorithms/preprocessing/calibrate_counts.hpp"
#include "capi/verb.hpp"

namespace halocline::capi {

class CountsInputs {
 public:
  void add_to(Settings& settings) { add_counts_flag(settings, counts, options); }
  /// Names of the inputs beside the projections.
  static std::vector<std::string> inputs() { return {"flats", "flats-after", "darks", "bad-pixels"}; }
  /// Nothing if the projections are line integrals. Throws InputError as calibrate_counts() does, and for settings and
  /// inputs that are for counts alone.
  std::optional<CountsCalibration> calibration(const Work& work, bool allow_nonfinite) const;
  /// Projections as they are to be taken.
  struct Taken {
    const VolumeSource* source = nullptr;
    ReplacedValues replaced;  ///< of line integrals: those that are not finite
    std::unique_ptr<VolumeSource> filled = nullptr, ring_free = nullptr;
  };
  /// Takes line integrals with values in place of those that are not finite, without rings, if that is wanted. Of
  /// counts nothing is done here.
  void take_projections(const Work& work, bool allow_nonfinite, Taken& taken) const;
  /// Returns whether an input may have values that were not measured.
  static bool takes_unmeasured(const std::string& input) {
    return input == "projections" || input == "flats" || input == "flats-after" || input == "darks";
  }

  bool counts = false;
  CountsOptions options;
};

}  // namespace halocline::capi
