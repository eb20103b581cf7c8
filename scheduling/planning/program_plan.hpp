// The planner of programs.
#pragma once

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Places slabs, batches and arrays, by the program's form:
/// - stencil: all slabs resident, or streamed in time-skewed regions (make_plan());
/// - voxel_sums, ray_sums: slabs and batches, with two arrays that batches go to in turn; devices that are not alike
/// get
///   several slabs each, so that whoever is free can take another's;
/// - steps: everything on one device if it fits there; else volumes in one slab a device and projections in host
/// memory,
///   which travel in batches; else volumes in host memory, too.
/// Throws PlanError as make_plan() does.
Plan plan_program(const Program& program, std::span<const DeviceModel> devices, const PlanOptions& options = {});

}  // namespace halocline
