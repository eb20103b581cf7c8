// Second buffers of arrays in host memory: while kernels use one of two, the results of the task before are stored from
// the other, and inputs of the next task are loaded. Pure C++.
#pragma once

#include <map>
#include <string>

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Arrays of a step at Place::host, and their second buffers: arrays of the same shape that the step does not use.
/// Arrays at Place::host hold nothing between steps, so those of other steps serve as well.
std::map<std::string, std::string> second_buffers(const Step& step, const Plan& plan);

/// True where all arrays that a step moves have a second buffer.
bool overlaps(const Step& step, const Plan& plan);

/// Requirements with as many spare arrays as all projections of a step over ray or voxel sums (or of any step, if
/// `all`) need for second buffers. Volumes get none: thinner slabs would cost more than what is hidden.
Requirements with_spares(const Program& program, Requirements requirements, bool all);

/// Array for the sums of all tasks of a step.
inline constexpr const char* step_sums = "sums of a step";
/// Doubles for the sums of all slices or views of any step.
std::size_t count_step_sums(const Program& program);
Requirements with_step_sums(const Program& program, Requirements requirements);

}  // namespace halocline
