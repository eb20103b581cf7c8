// Replanning where memory runs out or a device fails.
#pragma once

#include <functional>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

/// The longest run of consecutive views order[n] from n = places.begin on, before `places.end`. An empty order is the
/// identity.
Range consecutive_views(const std::vector<int>& order, Range places);

/// True for a plan of these devices, in this order.
bool is_for(const Plan& plan, const std::vector<Device>& devices);

/// The options with other models of the devices of all ranks, where there are several.
PlanOptions with_devices(PlanOptions options, const std::vector<DeviceModel>& available);

struct Attempts {
  std::function<RunResult(const Plan&, const std::vector<Device>&)> run;
  /// Plans the rest of the work, with the models of these devices, or of those of all ranks.
  std::function<Plan(const std::vector<DeviceModel>&)> plan_again;
  /// Text such as "3 of 9 slices are done"; empty: nothing.
  std::function<std::string()> done = [] { return std::string(); };
  /// Ctrl-C ends the run with its state, also where it comes between two attempts.
  bool keeps = false;
};

/// Runs a plan of these devices. When a driver runs out of memory although the plan kept the budget, plans again with a
/// smaller one; when a device fails otherwise, or still lacks memory, with the other devices (see with_failover()).
/// Several ranks plan again together where the memory of one runs out; a device that fails ends their run.
RunResult run_replanning(const Plan& plan, const std::vector<Device>& devices, const Attempts& attempts);

}  // namespace halocline
