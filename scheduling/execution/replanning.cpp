#include "scheduling/execution/replanning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/log.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/transport/rank_devices.hpp"
#include "scheduling/transport/transport.hpp"

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

// Gives devices that may have run out of memory three quarters of it. False if their slabs cannot be split much
// further.
bool plan_smaller(std::vector<DeviceModel>& available, const Plan& plan,
                  const std::function<bool(const DeviceModel&)>& lacks) {
  bool smaller = false;
  for (std::size_t n = 0; n < available.size(); ++n) {
    if (!lacks(available[n])) continue;
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

PlanOptions with_devices(PlanOptions options, const std::vector<DeviceModel>& available) {
  if (!options.all_devices.empty()) options.all_devices = available;
  return options;
}

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
  const std::size_t sent = ranks_of(plan).sent();
  const auto start = std::chrono::steady_clock::now();
  RunResult result = attempts.run(plan, devices);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.rank_bytes = static_cast<double>(ranks_of(plan).sent() - sent);
  for (const auto& device : devices) result.peak_bytes = std::max(result.peak_bytes, device.ledger().peak());
  if (result.plan.slabs.empty()) result.plan = plan;
  return result;
}

// A rank's part of an attempt. Returns what it lacks; empty: nothing, or another rank lacks something.
std::string lack_in_attempt(const Plan& plan, const std::vector<Device>& devices, const Attempts& attempts,
                            RunResult& result) {
  ranks_of(plan).begin_attempt();
  try {
    result = run_once(plan, devices, attempts);
    return {};
  } catch (const BudgetError& error) {
    return error.what();
  } catch (const ClError& error) {
    if (is_out_of_memory(error)) return error.what();
    if (error.code() != failed_before || !ranks_of(plan).left_elsewhere()) throw Error(error.what());
    return {};
  } catch (const DeviceError& error) {
    throw Error(error.what());
  }
}

// The plan with less memory on the ranks that lack it, or on all if some rank would then have nothing to do.
std::optional<Plan> smaller_plan(std::vector<DeviceModel>& available, const Plan& plan, const Attempts& attempts,
                                 const std::vector<std::string>& lacks) {
  for (const bool all : {false, true}) {
    auto smaller = available;
    const auto lacking = [&](const DeviceModel& model) {
      return all || !lacks[static_cast<std::size_t>(model.rank)].empty();
    };
    if (!plan_smaller(smaller, plan, lacking)) continue;
    try {
      auto result = attempts.plan_again(smaller);
      available = std::move(smaller);
      return result;
    } catch (const PlanError&) {
      continue;
    }
  }
  return std::nullopt;
}

// Attempts of all ranks together, which make the same plans.
RunResult run_with_ranks(const Plan& first, const std::vector<Device>& devices, const Attempts& attempts) {
  std::optional<Plan> plan = first;
  std::vector<DeviceModel> available = first.options.all_devices;
  for (auto tries = most_tries * available.size();; --tries) {
    RunResult result;
    const auto lacks = ranks_of(first).end_attempt(lack_in_attempt(*plan, devices, attempts, result));
    const auto lack = std::find_if(lacks.begin(), lacks.end(), [](const auto& each) { return !each.empty(); });
    if (lack == lacks.end()) return result;
    if (result.stopped_by == StoppedBy::interrupt) give_back_interrupt();  // this rank lacks nothing
    const std::string text = fmt::format("memory ran out on rank {}: {}", lack - lacks.begin(), *lack);
    plan = tries > 1 ? smaller_plan(available, *plan, attempts, lacks) : std::nullopt;
    if (!plan) throw Error(text + "; no smaller plan is left, so free memory there, or use more ranks");
    library_log()->info("{}; all ranks plan again with three quarters of the memory", text);
  }
}

// Attempts of one process.
RunResult run_alone(const Plan& first, const std::vector<Device>& all_devices, const Attempts& attempts) {
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
        const auto lacks = [&](const DeviceModel& model) { return device.empty() || model.name == device; };
        if (--tries <= 0 || !plan_smaller(available, plan, lacks)) return false;
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

}  // namespace

RunResult run_replanning(const Plan& first, const std::vector<Device>& all_devices, const Attempts& attempts) {
  const HeldInterrupts held(attempts.keeps);
  try {
    return (first.several_ranks() ? run_with_ranks : run_alone)(first, all_devices, attempts);
  } catch (...) {
    if (attempts.keeps) take_interrupt();  // no attempt follows in which one that was given back would count
    throw;
  }
}

}  // namespace halocline
