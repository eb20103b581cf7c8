// Second buffers of a program's arrays that lie with the transport: while kernels work on one of two, what the task
// before left is stored from the other, and what the next task needs comes. Pure C++.
#pragma once

#include <map>
#include <string>

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Arrays of a step at Place::host, and those that are their second buffers during it: of the same shape, in no other
/// use. Arrays at Place::host hold nothing between steps, so those that the step does not name serve, too.
std::map<std::string, std::string> second_buffers(const Step& step, const Plan& plan);

/// Whether all arrays that a step moves have one.
bool overlaps(const Step& step, const Plan& plan);

/// With as many spare arrays as give every array of kind projections a second buffer: of each step over ray or voxel
/// sums, or of `all` steps. Volumes have none of their own: thinner slabs would cost more than what is hidden.
Requirements with_spares(const Program& program, Requirements requirements, bool all);

/// An array for the sums of all slices or views that steps of the program reduce, where they have several tasks.
inline constexpr const char* step_sums = "sums of a step";
/// Doubles for the sums of all slices or views of any step.
std::size_t count_step_sums(const Program& program);
Requirements with_step_sums(const Program& program, Requirements requirements);

}  // namespace halocline
