// The command line of `halocline denoise`.
#pragma once

#include <array>
#include <string>

#include "algorithms/jobs/denoise_settings.hpp"
#include "apps/options/denoise_control.hpp"
#include "apps/options/frame_options.hpp"

namespace halocline {

struct DenoiseCommand : DenoiseSettings {
  const Settings* settings = nullptr;  // those of the command
  std::string input, reference, truth, output;
  std::string halves;                       // "A,B"
  std::array<std::string, 2> half_volumes;  // A and B, once take_denoise_options() has looked
  std::string output_type = "float32";
  bool rescale = false;
  FrameOptions frames;  // its first input is `input`
  DenoiseControl control;

  /// --weights is a file
  bool weights_given() const { return !weights.empty() && !finds_weights(); }
};

void add_denoise_options(Settings& settings, DenoiseCommand& command);

/// Completes the parameters, but for voxels. Throws InputError that names the options which do not go together.
void take_denoise_options(DenoiseCommand& command);

}  // namespace halocline
