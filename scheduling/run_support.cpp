#include "scheduling/run_support.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <exception>
#include <set>
#include <thread>

#include "host/error.hpp"
#include "scheduling/rates.hpp"

namespace halocline {
namespace {

constexpr int most_tries = 8;
constexpr std::size_t smallest_worth_splitting = std::size_t{1} << 16;

}  // namespace

void for_each_device(const Plan& plan, const std::function<void(int)>& work) {
  std::set<int> used;
  for (const auto& slab : plan.slabs) used.insert(slab.device);
  if (used.size() == 1) return work(*used.begin());
  std::vector<std::exception_ptr> errors(used.size());
  {
    std::vector<std::jthread> threads;
    std::size_t slot = 0;
    for (int device : used) {
      threads.emplace_back([&work, &error = errors[slot], device] {
        try {
          work(device);
        } catch (...) {
          error = std::current_exception();
        }
      });
      ++slot;
    }
  }
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

std::vector<SlabPlan> slabs_of(const Plan& plan, int device) {
  std::vector<SlabPlan> result;
  for (const auto& slab : plan.slabs)
    if (slab.device == device) result.push_back(slab);
  return result;
}

Range run_of(const std::vector<int>& order, Range places) {
  if (order.empty()) return places;
  const auto at = [&](std::int64_t place) { return std::int64_t{order[static_cast<std::size_t>(place)]}; };
  const std::int64_t first = at(places.begin);
  std::int64_t count = 1;
  while (places.begin + count < places.end && at(places.begin + count) == first + count) ++count;
  return {first, first + count};
}

RunResult run_replanning(const Requirements& requirements, const std::vector<Device>& devices,
                         const RunOptions& options, const std::function<RunResult(const Plan&)>& attempt) {
  auto available = budgets(devices);
  for (int tries = 1;; ++tries) {
    const Plan plan = make_plan(requirements, available, options.plan);
    std::size_t largest = 0;
    for (const auto& slab : plan.slabs) largest = std::max(largest, slab.bytes);
    // Some drivers report faults of kernels as a lack of resources, so trying has an end.
    const auto plan_smaller = [&](const Error& error) {
      if (tries == most_tries || largest < smallest_worth_splitting) return false;
      spdlog::info("{}; planning again with three quarters of the memory", error.what());
      for (auto& budget : available) budget.memory = std::min(budget.memory, largest / 4 * 3);
      return true;
    };
    try {
      reset_peaks(devices);
      const auto start = std::chrono::steady_clock::now();
      RunResult result = attempt(plan);
      result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      result.peak_bytes = peak_bytes(devices);
      result.plan = plan;
      return result;
    } catch (const ClError& error) {
      if (!is_out_of_memory(error) || !plan_smaller(error)) throw;
    } catch (const BudgetError& error) {
      if (!plan_smaller(error)) throw;
    }
  }
}

void reset_peaks(const std::vector<Device>& devices) {
  for (const auto& device : devices) device.ledger().reset_peak();
}

std::size_t peak_bytes(const std::vector<Device>& devices) {
  std::size_t result = 0;
  for (const auto& device : devices) result = std::max(result, device.ledger().peak());
  return result;
}

}  // namespace halocline
