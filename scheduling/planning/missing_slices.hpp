// Plans for what is left of a volume.
#pragma once

#include <span>

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// As make_plan() of methods with a stack of projections, but its slabs hold the slices `missing` (ascending, apart,
/// not none) alone, which the devices share as though they were all.
Plan plan_missing(const Requirements& requirements, std::span<const DeviceModel> devices, const PlanOptions& options,
                  std::span<const Range> missing);

}  // namespace halocline
