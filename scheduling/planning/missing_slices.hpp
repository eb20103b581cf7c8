// Plans for the rest of a volume.
#pragma once

#include <span>

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// Plan of a method with a stack of projections, whose slabs hold only the slices `missing` (ascending, disjoint, not
/// empty).
Plan plan_missing(const Requirements& requirements, std::span<const DeviceModel> devices, const PlanOptions& options,
                  std::span<const Range> missing);

}  // namespace halocline
