// The inputs of `halocline reconstruct`: projections, weights, the image to begin with.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "algorithms/solvers/reconstruct.hpp"
#include "apps/commands/reconstruct_options.hpp"
#include "apps/job/job.hpp"
#include "host/volume/cutout.hpp"

namespace halocline {

/// Sizes and places, all checked before anything is computed.
struct ReconstructWork {
  ImageInfo input;
  ChosenProjections chosen;
  Grid stack, grid;  // grid: of what is computed
  Cutout wanted;     // the written part of it
  Geometry geometry;
};

ReconstructWork look_at_inputs(Job& job, ReconstructCommand& command);

/// The volumes in host memory.
class ReconstructVolumes {
 public:
  ReconstructVolumes(Job& job, const ReconstructCommand& command, const ReconstructWork& work);
  ReconstructVolumes(const ReconstructVolumes&) = delete;
  ReconstructVolumes& operator=(const ReconstructVolumes&) = delete;
  ReconstructionInputs inputs() const;
  /// Bytes beside the projections, for forecasts.
  static double bytes(const ReconstructCommand& command, const ReconstructWork& work);

 private:
  Volume projections_;
  std::optional<Volume> weights_, start_, reference_, truth_;
  bool near_minimum_ = false;  // the start
  std::optional<MemorySource> projections_source_, weights_source_, start_source_, reference_source_, truth_source_;
};

}  // namespace halocline
