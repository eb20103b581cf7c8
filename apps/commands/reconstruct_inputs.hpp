// The inputs of `halocline reconstruct`: projections, weights, the image to begin with.
#pragma once

#include <memory>

#include "algorithms/solvers/reconstruct.hpp"
#include "apps/commands/reconstruct_options.hpp"
#include "apps/job/job.hpp"
#include "host/volume/cutout.hpp"
#include "scheduling/planning/plan.hpp"

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

/// The slices that slabs of this rank hold: it needs these of an image to begin with.
Range slices_held_here(const Plan& plan);

/// Inputs in host memory. On several ranks, line integrals that files hold as they are, and their weights, are there
/// for the detector rows of this rank alone (Plan::rank_rows), and volumes for its slices.
class ReconstructVolumes {
 public:
  ReconstructVolumes(Job& job, const ReconstructCommand& command, const ReconstructWork& work, const Plan& plan);
  ReconstructionInputs inputs() const;
  /// Bytes that they take, for forecasts.
  static double bytes(const ReconstructCommand& command, const ReconstructWork& work, const Plan& plan);

 private:
  void read_rows(Job& job, const ReconstructCommand& command, const ReconstructWork& work, Range rows);
  void read_whole(Job& job, const ReconstructCommand& command, const ReconstructWork& work);

  std::unique_ptr<VolumeSource> projections_, weights_, start_, reference_, truth_;  // nullptr: none
  bool near_minimum_ = false;                                                        // the start
};

}  // namespace halocline
