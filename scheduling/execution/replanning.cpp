#include "scheduling/execution/replanning.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

constexpr int most_tries = 8;
constexpr std::size_t smallest_worth_splitting = std::size_t{1} << 16;

}  // namespace

Range consecutive_views(const std::vector<int>& order, Range places) {
  if (order.empty()) return places;
  const auto at = [&](std::int64_t place) { return std::int64_t{order[static_cast<std::size_t>(place)]}; };
  const std::int64_t first = at(places.begin);
  std::int64_t count = 1;
  while (places.begin + count < places.end && at(places.begin + count) == first + count) ++count;
  return {first, first + count};
}

namespace {

// Gives the device that ran out of memory three quarters of it, or all devices if it is not known which did. False if
// their slabs cannot be split much further.
bool plan_smaller(std::vector<DeviceModel>& available, const Plan& plan, const std::string& device) {
  bool smaller = false;
  for (std::size_t n = 0; n < available.size(); ++n) {
    if (!device.empty() && available[n].name != device) continue;
    std::size_t largest = 0;
    for (const auto& slab : plan.slabs)
      if (slab.device == static_cast<int>(n) || shares_views(plan.requirements))
        largest = std::max(largest, slab.bytes);
    if (largest < smallest_worth_splitting) continue;
    available[n].memory = std::min(available[n].memory, largest / 4 * 3);
    smaller = true;
  }
  return smaller;
}

}  // namespace

bool is_for(const Plan& plan, const std::vector<Device>& devices) {
  std::vector<DeviceModel> here;
  for (const DeviceModel& model : plan.devices)
    if (model.rank == plan.options.rank) here.push_back(model);
  return std::equal(here.begin(), here.end(), devices.begin(), devices.end(),
                    [](const DeviceModel& a, const Device& b) { return a.name == b.info().name; });
}

namespace {

RunResult run_once(const Plan& plan, const std::vector<Device>& devices, const Attempts& attempts) {
  for (const auto& device : devices) device.ledger().reset_peak();
  const auto start = std::chrono::steady_clock::now();
  RunResult result = attempts.run(plan, devices);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const auto& device : devices) result.peak_bytes = std::max(result.peak_bytes, device.ledger().peak());
  if (result.plan.slabs.empty()) result.plan = plan;
  return result;
}

// Other ranks go on with the plan, so a failure ends the run.
RunResult run_with_ranks(const Plan& plan, const std::vector<Device>& devices, const Attempts& attempts) {
  try {
    return run_once(plan, devices, attempts);
  } catch (const DeviceError& error) {
    throw Error(error.what());
  }
}

}  // namespace

RunResult run_replanning(const Plan& first, const std::vector<Device>& all_devices, const Attempts& attempts) {
  if (first.several_ranks()) return run_with_ranks(first, all_devices, attempts);
  bool begun = false;
  const auto attempt = [&](const std::vector<Device>& devices) {
    auto available = device_models(devices);
    // A limit of tries, because some drivers report faults of kernels as a lack of resources.
    int tries = most_tries * static_cast<int>(devices.size());
    std::exception_ptr out_of_memory;
    const auto next_plan = [&] {
      if (!std::exchange(begun, true) && is_for(first, devices)) return first;
      try {
        return attempts.plan_again(available);
      } catch (const PlanError&) {
        if (out_of_memory) std::rethrow_exception(out_of_memory);  // the budgets are not the user's
        throw;
      }
    };
    for (;;) {
      const Plan plan = next_plan();
      const auto again = [&](const Error& error, const std::string& device) {
        if (--tries <= 0 || !plan_smaller(available, plan, device)) return false;
        out_of_memory = std::current_exception();
        const std::string done = attempts.done();
        library_log()->info("{}; {}planning again with three quarters of the memory", error.what(),
                            done.empty() ? done : done + ", ");
        return true;
      };
      try {
        return run_once(plan, devices, attempts);
      } catch (const ClError& error) {
        if (!is_out_of_memory(error) || !again(error, error.device())) throw;
      } catch (const BudgetError& error) {
        if (!again(error, {})) throw;
      }
    }
  };
  return with_failover(all_devices, attempt, attempts.done);
}

}  // namespace halocline
