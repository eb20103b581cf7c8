// What `halocline reconstruct` tells of its result.
#pragma once

#include "apps/commands/reconstruct_inputs.hpp"

namespace halocline {

/// Passes that were done.
double passes_of(const ReconstructionResult& result);
/// Results for the report, and the line on stdout.
void report_reconstruction(Job& job, const ReconstructCommand& command, const ReconstructWork& work,
                           const ReconstructionResult& result);

}  // namespace halocline
