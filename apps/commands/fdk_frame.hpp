// One frame of `halocline fdk`, from its projections to the files of its volumes.
#pragma once

#include "apps/checkpoint/output_checkpoint.hpp"
#include "apps/commands/fdk_forecast.hpp"
#include "apps/commands/fdk_projections.hpp"

namespace halocline {

/// The common part of the frames of a scan.
struct FdkScan {
  Job& job;
  const FdkCommand& command;
  const FdkWork& work;
  const FdkPlans& plans;
  FdkProjections& projections;
};

/// Makes frame n. checkpoint: nullptr is none. Returns how many voxels the type of the output could not hold.
std::size_t reconstruct_frame(const FdkScan& scan, std::size_t n, OutputCheckpoint* checkpoint);

}  // namespace halocline
