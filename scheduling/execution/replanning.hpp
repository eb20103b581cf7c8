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

struct Attempts {
  std::function<RunResult(const Plan&, const std::vector<Device>&)> run;
  std::function<Plan(const std::vector<DeviceModel>&)> plan_again;  ///< of the rest of the work
  /// Text such as "3 of 9 slices are done"; empty: nothing.
  std::function<std::string()> done = [] { return std::string(); };
};

/// Runs a plan of these devices. When a driver runs out of memory although the plan kept the budget, plans again with a
/// smaller one; when a device fails otherwise, or still lacks memory, with the other devices (see with_failover()).
RunResult run_replanning(const Plan& plan, const std::vector<Device>& devices, const Attempts& attempts);

}  // namespace halocline
