// The planner of programs.
#pragma once

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Places slabs, batches and arrays, by the program's form:
/// - stencil: all slabs resident, or streamed in time-skewed regions (make_plan());
/// - voxel_sums, ray_sums: slabs and batches; unlike devices get several slabs each for voxel sums;
/// - steps: everything on one device if it fits; else one slab of the volumes a device and projections in host memory,
/// moved in batches; else volumes in host memory, too.
/// Throws PlanError as make_plan() does.
Plan plan_program(const Program& program, std::span<const DeviceModel> devices, const PlanOptions& options = {});

}  // namespace halocline
