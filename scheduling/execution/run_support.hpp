// What the forms of a run share.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

/// Slabs of one device, in order.
std::vector<SlabPlan> slabs_of(const Plan& plan, int device);

/// The numbers order[n] for n from `places.begin` on that follow each other by one, before `places.end`. An empty order
/// leaves all as they are.
Range run_of(const std::vector<int>& order, Range places);

/// Plans and runs attempt(plan, its devices). When a driver runs out of memory although the plan kept the budget, plans
/// again with a smaller one; when a device fails otherwise, or goes on doing so, plans again with the others (see
/// with_failover()).
RunResult run_replanning(const Requirements& requirements, const std::vector<Device>& devices,
                         const RunOptions& options,
                         const std::function<RunResult(const Plan&, const std::vector<Device>&)>& attempt);

/// The same of work whose attempts go on where the one before was.
struct Attempts {
  std::function<Plan(const std::vector<DeviceModel>&)> plan;  ///< of what is left
  std::function<RunResult(const Plan&, const std::vector<Device>&)> run;
  std::function<std::string()> done;  ///< in words, e.g. "3 of 9 slices are done"; empty: nothing
};
RunResult run_replanning(const std::vector<Device>& devices, const Attempts& attempts);

/// Peak bytes of the device that used most since reset_peaks().
void reset_peaks(const std::vector<Device>& devices);
std::size_t peak_bytes(const std::vector<Device>& devices);

}  // namespace halocline
