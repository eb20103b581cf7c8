// The planner of programs.
#pragma once

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Places slabs, batches and arrays: everything on one device if it fits there; else volumes in one slab a device and
/// projections in host memory, which travel in batches; else volumes in host memory, too. Throws PlanError as
/// make_plan() does.
Plan plan_program(const Program& program, std::span<const DeviceModel> devices, const PlanOptions& options = {});

}  // namespace halocline
