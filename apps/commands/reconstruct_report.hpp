// The report of `halocline reconstruct`.
#pragma once

#include "apps/commands/reconstruct_inputs.hpp"

namespace halocline {

/// Results for the report, and the line on stdout.
void report_reconstruction(Job& job, const ReconstructCommand& command, const ReconstructWork& work,
                           const ReconstructionResult& result);

}  // namespace halocline
