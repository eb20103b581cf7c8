#include "algorithms/denoise/denoise.hpp"

#include <optional>

#include "algorithms/calibration/form_trial.hpp"
#include "algorithms/denoise/denoise_job.hpp"
#include "algorithms/denoise/denoise_parameters.hpp"
#include "algorithms/denoise/fused_form.hpp"
#include "algorithms/support/check_input.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {

DenoiseResult denoise(const Volume& f, const Volume* weights, const DenoiseParameters& parameters,
                      const std::vector<Device>& devices, const RunOptions& options, const Volume* reference) {
  check_volume(f, "the volume");
  const MemorySource source(f);
  std::optional<MemorySource> weight_source;
  if (weights != nullptr) {
    check_size(*weights, "`weights`");  // their values are checked as variances
    weight_source.emplace(*weights);
  }
  Volume output = Volume::uninitialised(f.grid);
  MemorySink sink(output);
  DenoiseResult result =
      denoise_into(source, weight_source ? &*weight_source : nullptr, sink, parameters, devices, options, reference);
  result.output = std::move(output);
  return result;
}

DenoiseResult denoise_into(const VolumeSource& f, const VolumeSource* weights, VolumeSink& output,
                           const DenoiseParameters& parameters, const std::vector<Device>& devices,
                           const RunOptions& options, const Volume* reference) {
  check_devices(devices);
  RunOptions wanted = options;
  if (can_end_early(options)) wanted.plan.may_stream = false;
  if (lies_on(f, devices)) wanted.plan.on_devices.insert("f");
  if (weights != nullptr && lies_on(*weights, devices)) wanted.plan.on_devices.insert("w");
  if (lies_on(output, devices)) wanted.plan.on_devices.insert("u");
  DenoiseParameters full = parameters;  // as they are used
  full.regulariser.guided = reference != nullptr;
  full.statistical = descends(parameters) && weights != nullptr;
  full.compared = parameters.truth != nullptr;
  const auto plan = [&](const std::vector<Device>& used) {
    check_denoise_parameters(full);
    return plan_form_of_run(used, f.grid(), full, wanted.plan).plan;
  };
  DenoiseParameters observed = parameters;
  observed.on_parameter_chosen = [&](const ParameterChoice& choice) {
    observed.chosen = choice;  // whatever becomes of the devices, it is not made again
    if (parameters.on_parameter_chosen) parameters.on_parameter_chosen(choice);
  };
  return run_on_selection(devices, wanted, plan, [&](const std::vector<Device>& used, const RunOptions& planned) {
    return DenoiseJob(f, weights, observed, used, reference).run(output, planned);
  });
}

Plan plan_denoise(const Grid& grid, const DenoiseParameters& parameters, const std::vector<Device>& devices,
                  const PlanOptions& options) {
  check_denoise_parameters(parameters);
  return plan_on_selection(
      devices, [&](const std::vector<Device>& used) { return plan_form_of_run(used, grid, parameters, options).plan; });
}

Plan plan_denoise(const Grid& grid, const DenoiseParameters& parameters, std::span<const DeviceModel> devices,
                  const PlanOptions& options) {
  check_denoise_parameters(parameters);
  return plan_on_selection(std::vector(devices.begin(), devices.end()), [&](const std::vector<DeviceModel>& used) {
    return plan_form(grid, parameters, known_form(used).value_or(FusedForm{}), used, options).plan;
  });
}

}  // namespace halocline
