// How `halocline denoise` will run, and what it will take.
#pragma once

#include "apps/commands/denoise_outputs.hpp"

namespace halocline {

struct DenoisePlan {
  PlanOptions options;
  Plan plan;
};

/// Plans the run, tells what it takes after --dry-run, and throws as Job::forecast() does if that is not there.
DenoisePlan forecast_denoise(Job& job, const DenoiseCommand& command, const DenoiseInputs& inputs,
                             const DenoiseOutputs& outputs);

}  // namespace halocline
