// The report of `halocline denoise`.
#pragma once

#include "apps/commands/denoise_outputs.hpp"

namespace halocline {

/// Values for the report, warnings, and the lines about the result. Throws Interrupted if an interrupt ended the run.
void report_denoise(Job& job, const DenoiseCommand& command, const DenoiseInputs& inputs, const DenoiseOutputs& outputs,
                    const DenoiseResult& result);

}  // namespace halocline
