// The options of `halocline reconstruct`.
#pragma once

#include <string>

#include "algorithms/jobs/reconstruct_settings.hpp"
#include "apps/options/counts_options.hpp"
#include "apps/options/grid_options.hpp"
#include "apps/options/projection_options.hpp"

namespace halocline {

struct ReconstructCommand : ReconstructSettings {
  std::string input, geometry, output, reference, truth, weights, gap_map, plot;  // paths; empty: none
  ProjectionOptions projections;
  CountsArguments counts_arguments;
  bool allow_nonfinite = false;
  GridOptions grid;
  double pad_volume = 0;  // mm
  std::string checkpoint;
  double checkpoint_every = 60;
  bool resume = false;

  std::string input_name() const { return "'" + input + "'"; }
  std::string geometry_name() const { return "'" + geometry + "'"; }
  GivenInputs given() const { return {weighted(), start() != "zero", starts_from_image(), !truth.empty()}; }
  /// True if rays get weights of any source.
  bool weighted() const { return ReconstructSettings::weighted(!weights.empty()); }
  /// True also if they may get the weight 0 where nothing was measured.
  bool may_be_weighted() const;
};

void add_reconstruct_options(Settings& settings, ReconstructCommand& command);
/// Puts options into the parameters; InputError where they contradict each other.
void take_reconstruct_options(ReconstructCommand& command);

}  // namespace halocline
