// Plans again where memory runs out or a device fails; and what else the forms of a run share.
#pragma once

#include <functional>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

/// The views order[n] for n from `places.begin` on that follow each other by one, before `places.end`. An empty order
/// leaves all as they are.
Range consecutive_views(const std::vector<int>& order, Range places);

/// Whether a plan was made for these devices, in this order.
bool is_for(const Plan& plan, const std::vector<Device>& devices);

struct Attempts {
  std::function<RunResult(const Plan&, const std::vector<Device>&)> run;
  std::function<Plan(const std::vector<DeviceModel>&)> plan_again;  ///< of what is left
  /// In words, e.g. "3 of 9 slices are done"; empty: nothing.
  std::function<std::string()> done = [] { return std::string(); };
};

/// Runs a plan of these devices. When a driver runs out of memory although the plan kept the budget, plans again with a
/// smaller one; when a device fails otherwise, or goes on doing so, plans again with the others (see with_failover()).
RunResult run_replanning(const Plan& plan, const std::vector<Device>& devices, const Attempts& attempts);

}  // namespace halocline
