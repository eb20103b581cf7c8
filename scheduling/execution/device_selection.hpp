// Which of the devices that a user named take part in a job: GPUs and CPUs together take the kernels that all of them
// can run, which may be slower than those of GPUs.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

inline bool is_cpu(const DeviceModel& device) {
  return device.cpu;
}
inline bool is_cpu(const Device& device) {
  return device.info().cpu();
}

/// Devices that are no CPUs.
template <class AnyDevice>
std::vector<AnyDevice> without_cpus(const std::vector<AnyDevice>& devices) {
  std::vector<AnyDevice> result;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(result),
               [](const AnyDevice& device) { return !is_cpu(device); });
  return result;
}

/// What Plan::notes say where GPUs take `alone` seconds, which are as few as `together` with some CPUs but for 2 %; or
/// where the CPUs cannot do the job. Nothing if the CPUs are worth having.
std::optional<std::string> note_on_selection(double alone, std::optional<double> together, std::size_t cpus);

/// The devices that take part, and the plan by which they were chosen: nothing where there was no choice.
template <class AnyDevice>
struct Selection {
  std::vector<AnyDevice> devices;
  std::optional<Plan> plan;
};

/// Compares forecasts: `plan(devices)` with the kernels that all of these can run. Devices: DeviceModel or Device.
template <class AnyDevice, class PlanOf>
Selection<AnyDevice> select_devices(const std::vector<AnyDevice>& devices, PlanOf&& plan) {
  const auto gpus = without_cpus(devices);
  if (gpus.empty() || gpus.size() == devices.size()) return {devices, {}};
  std::optional<Plan> alone, together;
  try {
    alone = plan(gpus);
  } catch (const PlanError&) {
    return {devices, {}};
  }
  try {
    together = plan(devices);
  } catch (const PlanError&) {   // it does not fit them
  } catch (const InputError&) {  // nor can CPUs do it that way
  }
  const auto note = note_on_selection(alone->seconds, together ? std::optional(together->seconds) : std::nullopt,
                                      devices.size() - gpus.size());
  if (!note) return {devices, together};
  alone->notes.push_back(*note);
  alone->options.notes.push_back(*note);
  return {gpus, alone};
}

/// The forecast for the devices that are selected.
template <class AnyDevice, class PlanOf>
Plan plan_on_selection(const std::vector<AnyDevice>& devices, PlanOf&& plan) {
  const Selection<AnyDevice> selection = select_devices(devices, plan);
  return selection.plan ? *selection.plan : plan(selection.devices);
}

/// The selection that a plan was made for, if all of its devices are there.
std::optional<Selection<Device>> selected_before(const std::vector<Device>& devices, const std::optional<Plan>& plan);

/// `run(devices, options)` of the devices that are selected, here or by RunOptions::planned; of the others when these
/// fail.
template <class PlanOf, class Run>
auto run_on_selection(const std::vector<Device>& devices, const RunOptions& options, PlanOf&& plan, Run&& run) {
  return with_failover(devices, [&](const std::vector<Device>& working) {
    const auto before = selected_before(working, options.planned);
    const Selection<Device> selection = before ? *before : select_devices(working, plan);
    RunOptions chosen = options;
    chosen.planned = selection.plan;
    if (selection.devices.size() == working.size()) return run(selection.devices, chosen);
    if (chosen.planned) chosen.plan.notes = chosen.planned->options.notes;
    try {
      return run(selection.devices, chosen);
    } catch (const PlanError& too_small) {  // the GPUs that are left cannot
      const auto left = working_devices(working);
      if (left.size() == working.size()) throw;
      try {
        return run(left, options);
      } catch (const InputError&) {  // nor can the CPUs
        throw too_small;
      }
    }
  });
}

/// The program in the form for these devices, as models or open. Throws InputError where one of them cannot run it.
using ProgramForModels = std::function<Program(const std::vector<DeviceModel>&)>;
using ProgramForDevices = std::function<Program(const std::vector<Device>&)>;

/// The forecast of a program for the devices that are selected.
Plan plan_on_selection(const ProgramForModels& program_for, const std::vector<DeviceModel>& devices,
                       const PlanOptions& options);

/// run_program() on the devices that are selected; on the others when these fail.
RunResult run_on_selection(const ProgramForDevices& program_for, const ProgramInputs& inputs, VolumeSink& output,
                           const std::vector<Device>& devices, const RunOptions& options);
/// The same to RunResult::output on `grid`.
RunResult run_on_selection(const ProgramForDevices& program_for, const ProgramInputs& inputs, const Grid& grid,
                           const std::vector<Device>& devices, const RunOptions& options);

}  // namespace halocline
