// The command line of `halocline denoise`.
#pragma once

#include <string>

#include "algorithms/denoise/denoise.hpp"
#include "apps/options/denoise_control.hpp"
#include "apps/options/denoise_methods.hpp"
#include "apps/options/family_options.hpp"
#include "apps/options/frame_options.hpp"
#include "apps/options/strength_options.hpp"

namespace halocline {

struct DenoiseCommand {
  std::string input, weights, output;
  std::string output_type = "float32";
  bool rescale = false;
  FrameOptions frames;  // its first input is `input`
  DenoiseParameters parameters;
  MethodOptions options;
  RegulariserOptions regulariser;
  DenoiseControl control;
  StrengthOptions strength;

  bool descends() const { return parameters.method == "tvgd"; }
  bool pdu_or_spdu() const { return parameters.method == "pdu" || parameters.method == "spdu"; }
  /// --weights is a file
  bool weights_given() const { return !weights.empty() && !weights_estimated(); }
  /// --weights says how to find them
  bool weights_estimated() const { return weights == "estimate" || weights == "halves"; }
};

void add_denoise_options(CLI::App& sub, DenoiseCommand& command);

/// Completes the parameters, but for voxels. Throws InputError that names the options which do not go together.
void take_denoise_options(DenoiseCommand& command);

}  // namespace halocline
