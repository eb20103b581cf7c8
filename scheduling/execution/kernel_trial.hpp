// Measuring a program's own kernels before it is planned.
#pragma once

#include <optional>

#include "scheduling/planning/program.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {

/// A launch of the program's kernels that can be repeated. Nothing for programs of any steps.
std::optional<KernelTrial> trial_of(const Program& program);

}  // namespace halocline
