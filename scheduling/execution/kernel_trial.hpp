// Measurement of a program's own kernels before it is planned.
#pragma once

#include <optional>

#include "scheduling/planning/program.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {

/// A repeatable launch of the program's kernels. Nothing for ProgramForm::steps.
std::optional<KernelTrial> trial_of(const Program& program);

}  // namespace halocline
