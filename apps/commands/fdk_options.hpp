// The command line of `halocline fdk`.
#pragma once

#include <optional>
#include <string>

#include "algorithms/fdk/check_fdk.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "apps/commands/fdk_denoise.hpp"
#include "apps/options/counts_options.hpp"
#include "apps/options/grid_options.hpp"
#include "apps/options/noise_options.hpp"
#include "apps/options/projection_options.hpp"

namespace halocline {

struct FdkCommand {
  std::string input, geometry, output, halves_output;
  ProjectionOptions projections;
  GridOptions grid;
  FilterSettings filter;
  NoiseOptions noise;
  bool counts = false;
  CountsArguments counts_arguments;
  std::optional<double> water;
  std::string output_type = "float32";
  std::string checkpoint;  // the file that keeps finished slices; empty: none
  bool resume = false;
  FdkDenoise denoise;

  const char* unit() const { return water ? "HU" : "1/mm"; }
  /// Names for messages.
  std::string input_name() const { return "'" + input + "'"; }
  std::string geometry_name() const { return "'" + geometry + "'"; }
};

void add_fdk_options(Settings& settings, FdkCommand& command);

/// Completes the options of --denoise. Throws InputError that names the options which do not go together.
void take_fdk_options(FdkCommand& command);

}  // namespace halocline
