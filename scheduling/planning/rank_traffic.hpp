// Traffic between the ranks of a plan: halos, sums of slices, and ray sums of iterative methods. Voxel sums and views
// of one step need none.
#pragma once

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Slices of a rank, whose slabs follow each other.
Range slices_of_rank(const Plan& plan, int rank);
/// Slices of a rank among those up to `low` below and `high` above the slices of `reader`.
Range slices_beside(const Plan& plan, int reader, int rank, std::int64_t low, std::int64_t high);

/// Bytes that all ranks send in all passes; 0 for programs of steps.
double count_rank_bytes(const Plan& plan);
/// Bytes that all ranks send in a program of steps, all iterations included.
double count_program_rank_bytes(const Program& program, const Plan& plan);

/// Bytes of float32 that all ranks read of their inputs' files: the rows and slices that they need, some of them
/// several times.
double read_bytes(const Plan& plan);

/// Seconds of the busiest rank's link (PlanOptions::link_bandwidth), as if nothing was computed meanwhile; 0 without.
double link_seconds(const Plan& plan);

}  // namespace halocline
