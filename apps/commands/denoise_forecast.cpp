#include "apps/commands/denoise_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/checkpoint/checkpoint.hpp"
#include "apps/job/report.hpp"
#include "scheduling/planning/cost.hpp"

namespace halocline {
namespace {

// Bytes of host memory that inputs and results take beside the run. MetaImage files are read and written as they go;
// the other formats are held in their own type.
double held_bytes(const DenoiseCommand& command, const DenoiseInputs& inputs, const DenoiseOutputs& outputs,
                  const Plan& plan) {
  const double voxels = static_cast<double>(inputs.grid.count()), volume = grid_bytes(inputs.grid);
  const auto& control = command.control;
  double result = 0;
  const auto own_type = [&](const std::string& path, Component component) {
    return is_streamable(path) ? 0 : static_cast<double>(component_bytes(component)) * voxels;
  };
  for (const auto& path :
       {control.init, command.reference, command.truth, command.half_volumes[0], command.half_volumes[1]})
    result += path.empty() ? 0 : volume;
  if (!control.init.empty()) result += volume;  // less the mean
  if (!control.checkpoint.empty()) {
    const auto state = static_cast<double>(state_bytes(plan.requirements));
    // Slabs streamed in a single pass leave no state on the host, unless it is to be kept.
    if (!plan.resident && plan.passes <= 1) result += state - volume;
  }
  const double weights = command.weights.empty() ? 0 : 1;
  if (!outputs.streamed()) return result + (2 + weights) * volume;
  result += own_type(command.input, component_named(inputs.header.component)) +
            own_type(command.output, outputs.storage().component);
  if (weights > 0) result += own_type(command.weights, component_named(read_image_info(command.weights).component));
  const bool keeps_result = !result_leaves_at_once(plan) || (!plan.resident && !control.checkpoint.empty());
  return result + (keeps_result ? volume : 0);
}

// Bytes of host memory while alpha is chosen (algorithms/denoise/parameter_choice.hpp): as measured, in volumes of the
// parts that are judged.
double judging_bytes(const DenoiseCommand& command, const Grid& grid, bool cpu) {
  const auto& parameters = command.parameters;
  const bool judges =
      command.pdu_or_spdu() && !parameters.alpha && !parameters.alpha_sigma && parameters.alpha_path.empty();
  if (!judges) return 0;
  const double voxels = static_cast<double>(grid.count());
  return sizeof(float) * (2 * std::min(voxels, 0x1p24) + (cpu ? 26 : 16) * std::min(voxels, 0x1p21));
}

}  // namespace

DenoisePlan forecast_denoise(Job& job, const DenoiseCommand& command, const DenoiseInputs& inputs,
                             const DenoiseOutputs& outputs) {
  const auto& control = command.control;
  if (command.pdu_or_spdu()) job.tune_first_run(command.parameters.method);
  DenoisePlan result;
  result.options = job.plan_options();
  result.options.may_end_early = command.time_limit > 0 || command.keep_partial;
  result.options.may_stream = control.checkpoint.empty();
  result.plan = plan_denoise(inputs.grid, command.parameters, job.devices(), result.options);
  if (job.dry_run() && command.frames.several())
    job.print(fmt::format("{}, of which the plan makes slices of {} x {}", frames_summary(command.frames, inputs.frame),
                          inputs.whole.size[0], inputs.whole.size[1]));
  const double chunk =
      control.checkpoint.empty() ? 0 : std::min(grid_bytes(inputs.grid), static_cast<double>(checkpoint_buffer));
  const double judging = judging_bytes(command, inputs.grid, job.devices().front().info().cpu());
  job.forecast(result.plan, held_bytes(command, inputs, outputs, result.plan),
               chunk + std::max(0.0, judging - result.plan.host_bytes));
  return result;
}

}  // namespace halocline
