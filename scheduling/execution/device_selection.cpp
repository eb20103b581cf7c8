#include "scheduling/execution/device_selection.hpp"

#include <fmt/format.h>

#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {

std::optional<std::string> note_on_selection(double alone, std::optional<double> together, std::size_t cpus) {
  if (together && *together < (1 - worth_another) * alone) return std::nullopt;
  const std::string who = cpus == 1 ? "the CPU" : "the CPUs", with = cpus == 1 ? "with it" : "with them";
  if (!together) return fmt::format("left out: {}; the job cannot be done there", who);
  if (*together < (1 + worth_another) * alone)
    return fmt::format("left out: {}; {} the job would take no less time", who, with);
  return fmt::format("left out: {}; {}, and kernels for both, it would take {:.3g} s instead of {:.3g} s", who, with,
                     *together, alone);
}

std::optional<Selection<Device>> selected_before(const std::vector<Device>& devices, const std::optional<Plan>& plan) {
  if (!plan) return std::nullopt;
  Selection<Device> result{{}, plan};
  std::size_t wanted = 0;
  for (const DeviceModel& model : plan->devices) {
    if (model.rank != plan->options.rank) continue;
    ++wanted;
    for (const Device& device : devices)
      if (device.info().name == model.name) result.devices.push_back(device);
  }
  if (result.devices.size() != wanted) return std::nullopt;
  return result;
}

Plan plan_on_selection(const ProgramForModels& program_for, const std::vector<DeviceModel>& devices,
                       const PlanOptions& options) {
  return plan_on_selection(
      options.all_devices.empty() ? devices : options.all_devices,
      [&](const std::vector<DeviceModel>& used) { return plan_program(program_for(used), used, options); });
}

RunResult run_on_selection(const ProgramForDevices& program_for, const ProgramInputs& inputs, VolumeSink& output,
                           const std::vector<Device>& devices, const RunOptions& options) {
  const auto plan = [&](const std::vector<Device>& used) {
    return plan_program(placed_program(program_for(used), inputs, output, used), device_models(used), options.plan);
  };
  return run_on_selection(devices, options, plan, [&](const std::vector<Device>& used, const RunOptions& planned) {
    return run_program(program_for(used), inputs, output, used, planned);
  });
}

RunResult run_on_selection(const ProgramForDevices& program_for, const ProgramInputs& inputs, const Grid& grid,
                           const std::vector<Device>& devices, const RunOptions& options) {
  Volume output = Volume::uninitialised(grid);
  MemorySink sink(output);
  RunResult result = run_on_selection(program_for, inputs, sink, devices, options);
  result.output = std::move(output);
  return result;
}

}  // namespace halocline
