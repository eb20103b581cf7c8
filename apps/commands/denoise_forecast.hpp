// The plan of `halocline denoise` and the memory that it needs.
#pragma once

#include "apps/commands/denoise_outputs.hpp"

namespace halocline {

struct DenoisePlan {
  PlanOptions options;
  Plan plan;
};

/// Plans the run, prints what it takes after --dry-run, and throws as Job::forecast() does if that is not there.
DenoisePlan forecast_denoise(Job& job, const DenoiseCommand& command, const DenoiseInputs& inputs,
                             const DenoiseOutputs& outputs);

}  // namespace halocline
