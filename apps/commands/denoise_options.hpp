// The command line of `halocline denoise`.
#pragma once

#include <array>
#include <string>

#include "algorithms/jobs/denoise_settings.hpp"
#include "apps/options/denoise_control.hpp"
#include "apps/options/frame_options.hpp"

namespace halocline {

struct DenoiseCommand : DenoiseSettings {
  DenoiseCommand() { add_denoise_settings(settings, *this); }

  Settings settings;
  std::string input, reference, output;
  std::string halves;                       // "A,B"
  std::array<std::string, 2> half_volumes;  // A and B, once take_denoise_options() has looked
  std::string output_type = "float32";
  bool rescale = false;
  FrameOptions frames;  // its first input is `input`
  DenoiseControl control;

  /// --weights is a file
  bool weights_given() const { return !weights.empty() && !finds_weights(); }
};

void add_denoise_options(CLI::App& sub, DenoiseCommand& command);

/// Completes the parameters, but for voxels. Throws InputError that names the options which do not go together.
void take_denoise_options(DenoiseCommand& command);

}  // namespace halocline
