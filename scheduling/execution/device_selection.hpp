// Selection among the devices that a user named: GPUs and CPUs together need kernels that all of them can run, which
// may be slower than those of GPUs.
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

template <class AnyDevice>
std::vector<AnyDevice> without_cpus(const std::vector<AnyDevice>& devices) {
  std::vector<AnyDevice> result;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(result),
               [](const AnyDevice& device) { return !is_cpu(device); });
  return result;
}

/// Note for the plan where CPUs are left out: with them the job takes `together` instead of `alone` seconds, or is
/// impossible. Nothing where they save at least 2 %.
std::optional<std::string> note_on_selection(double alone, std::optional<double> together, std::size_t cpus);

/// The selected devices, and their plan; no plan where there was no choice.
template <class AnyDevice>
struct Selection {
  std::vector<AnyDevice> devices;
  std::optional<Plan> plan;
};

/// Compares forecasts of `plan(devices)`. Devices: DeviceModel or Device.
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
  } catch (const PlanError&) {   // does not fit
  } catch (const InputError&) {  // CPUs have no such kernels
  }
  const auto note = note_on_selection(alone->seconds, together ? std::optional(together->seconds) : std::nullopt,
                                      devices.size() - gpus.size());
  if (!note) return {devices, together};
  alone->notes.push_back(*note);
  alone->options.notes.push_back(*note);
  return {gpus, alone};
}

template <class AnyDevice, class PlanOf>
Plan plan_on_selection(const std::vector<AnyDevice>& devices, PlanOf&& plan) {
  const Selection<AnyDevice> selection = select_devices(devices, plan);
  return selection.plan ? *selection.plan : plan(selection.devices);
}

/// The selection of a plan, if all of its devices are present.
std::optional<Selection<Device>> selected_before(const std::vector<Device>& devices, const std::optional<Plan>& plan);

/// Calls `run(devices, options)` for the selected devices, or those of RunOptions::planned; for the others when these
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
    } catch (const PlanError& too_small) {  // too small for the remaining GPUs
      const auto left = working_devices(working);
      if (left.size() == working.size()) throw;
      try {
        return run(left, options);
      } catch (const InputError&) {  // CPUs have no such kernels
        throw too_small;
      }
    }
  });
}

/// The program in the form for these devices, as models or open. Throws InputError where one of them cannot run it.
using ProgramForModels = std::function<Program(const std::vector<DeviceModel>&)>;
using ProgramForDevices = std::function<Program(const std::vector<Device>&)>;

/// The plan of a program for the selected devices.
Plan plan_on_selection(const ProgramForModels& program_for, const std::vector<DeviceModel>& devices,
                       const PlanOptions& options);

/// Calls run_program() for the selected devices; for the others when these fail. The result goes to `output`, or to
/// RunResult::output on `grid`.
RunResult run_on_selection(const ProgramForDevices& program_for, const ProgramInputs& inputs, VolumeSink& output,
                           const std::vector<Device>& devices, const RunOptions& options);
RunResult run_on_selection(const ProgramForDevices& program_for, const ProgramInputs& inputs, const Grid& grid,
                           const std::vector<Device>& devices, const RunOptions& options);

}  // namespace halocline
