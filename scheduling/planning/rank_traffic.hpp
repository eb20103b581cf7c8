// Traffic between the ranks of a plan: halos and sums of slices of iterative methods. Voxel sums and views of one step
// need none. Ray sums of reconstructions are not counted.
#pragma once

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// Bytes that all ranks send in all passes.
double rank_bytes(const Plan& plan);

/// Bytes of float32 that all ranks read of their inputs' files: the rows and slices that they need, some of them
/// several times.
double read_bytes(const Plan& plan);

/// Seconds of the busiest rank's link (PlanOptions::link_bandwidth), as if nothing was computed meanwhile; 0 without.
double link_seconds(const Plan& plan);

}  // namespace halocline
