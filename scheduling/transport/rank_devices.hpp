// The devices of all ranks as one list, which each of them plans with.
#pragma once

#include <vector>

#include "host/opencl/device.hpp"
#include "host/volume/run_sums.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// The ranks that carry out a plan.
inline Ranks& ranks_of(const Plan& plan) {
  return plan.several_ranks() ? ranks() : one_rank();
}

/// Sets PlanOptions::all_devices and rank to the models of these and the other ranks' devices, if there are several
/// ranks; all of them call it. Throws InputError that names a rank whose devices are of another kind than the first
/// one's: results are the same on devices of a kind.
void plan_with_all(PlanOptions& options, const std::vector<Device>& devices, Ranks& ranks);

/// Throws Error if the plans of the ranks differ.
void require_same_plan(const Plan& plan, Ranks& ranks);

/// The range of the values that the ranks of a plan have each seen a part of.
ValueRange range_of_all(const Plan& plan, ValueRange own);

}  // namespace halocline
