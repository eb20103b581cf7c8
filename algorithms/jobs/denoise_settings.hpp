// The settings of denoising, for the job denoise and for fdk that denoises its volume.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/jobs/settings.hpp"

namespace halocline {

/// Settings of a penalty that are words or have two names.
struct PenaltySettings {
  std::string tv = "isotropic";
  std::optional<double> minimum, maximum;
  bool nonnegative = false;

  /// Puts them into `regulariser`. guided: there is a reference. Throws InputError where a setting does not go with the
  /// method or another setting.
  void put_into(Regulariser& regulariser, const std::string& method, bool guided) const;
};

struct DenoiseSettings {
  DenoiseParameters parameters;
  PenaltySettings penalty;
  std::string schedule = "default";
  std::string alpha;       // a number, one with /sigma, a rule or "target"; empty: auto
  std::string alpha_path;  // as given; empty: none
  std::string weights;     // "halves", "estimate", or the name of an image; empty: none
  std::string time_axis;   // "z"; empty: none
  double time_limit = 0;   // s; 0: none
  bool keep_partial = false;

  bool descends() const { return parameters.method == "tvgd"; }
  bool frames() const { return parameters.method == "pdu4d"; }
  bool pdu_or_spdu() const { return parameters.method == "pdu" || parameters.method == "spdu"; }
  /// Returns true if the job makes the weights.
  bool finds_weights() const { return weights == "estimate" || weights == "halves"; }
};

/// All of the job denoise.
void add_denoise_settings(Settings& settings, DenoiseSettings& denoise);
/// The settings of it that say how a method iterates: `iterations` to `adaptive_delta`.
void add_method_settings(Settings& settings, DenoiseSettings& denoise);
void add_alpha_setting(Settings& settings, DenoiseSettings& denoise);
/// regulariser: gets those that are its own. group: title in the help.
void add_penalty_settings(Settings& settings, PenaltySettings& penalty, Regulariser& regulariser,
                          const std::string& group = "Other problems than plain total variation (pdu, spdu)");

/// The name of the image that guides the penalty, beside its settings. For front ends that name images.
void add_reference_setting(Settings& settings, std::string& reference);
/// The name of the image that records of the iterations are compared with, for front ends that name images.
void add_truth_setting(Settings& settings, std::string& truth, const std::string& group);

/// The text of `alpha` as a number, or as one of units of the noise ("1.5/sigma"). Throws InputError if it is neither.
struct StrengthNumber {
  double value = 0;
  bool in_noise = false;
};
StrengthNumber strength_number(const std::string& alpha);
bool is_strength_rule(const std::string& alpha);

/// Arrays that a job of denoising is given.
struct DenoiseArrays {
  bool weights = false, halves = false, init = false, reference = false;
  std::size_t volumes = 1;  ///< frames of pdu4d
};

/// Completes `denoise.parameters`, but for voxels. `settings`: those of `denoise`. Throws InputError that names the
/// settings which do not go together.
void take_denoise_settings(DenoiseSettings& denoise, const Settings& settings, const DenoiseArrays& given);

}  // namespace halocline
