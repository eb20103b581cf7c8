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

/// Of voxel_sums: slabs that there are to be at least (PlanOptions::minimum_slabs), so that devices that are not alike
/// can take them from each other.
int slabs_to_share(const Program& program, std::span<const DeviceModel> devices, const PlanOptions& options);

/// plan_program() of voxel_sums for what is left of the volume: slabs hold the slices `missing` (ascending, apart, not
/// none) alone, at least PlanOptions::minimum_slabs of them.
Plan plan_missing(const Program& program, std::span<const DeviceModel> devices, const PlanOptions& options,
                  std::span<const Range> missing);

/// What the planner takes of a program but for Form::steps: with the arrays that its form adds.
Requirements planned_requirements(const Program& program);

/// The array that batches of one sum go to in turn with this one.
std::string next_name(const std::string& name);

}  // namespace halocline
