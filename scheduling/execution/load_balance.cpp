#include "scheduling/execution/load_balance.hpp"

#include <algorithm>
#include <vector>

#include "host/system/log.hpp"
#include "scheduling/planning/cost.hpp"

namespace halocline {
namespace {

// True for equal parts of a split device, whose speeds differ only for a short time.
bool equal_parts(const Plan& plan) {
  const auto device_of = [&](const SlabPlan& slab) -> const DeviceModel& { return plan.device_of(slab); };
  const auto& first = device_of(plan.slabs.front());
  return std::all_of(plan.slabs.begin(), plan.slabs.end(), [&](const SlabPlan& slab) {
    return device_of(slab).part && device_of(slab).speed == first.speed;
  });
}

// Seconds of an iteration on the slowest device at these speeds (slices a second).
double longest(const Plan& plan, const std::vector<double>& speeds) {
  std::vector<double> slices(speeds.size(), 0);
  for (const auto& slab : plan.slabs)
    slices[static_cast<std::size_t>(slab.device)] += static_cast<double>(slab.interior.count());
  double seconds = 0;
  for (std::size_t device = 0; device < speeds.size(); ++device)
    if (speeds[device] > 0) seconds = std::max(seconds, slices[device] / speeds[device]);
  return seconds;
}

}  // namespace

void LoadBalance::add(int device, double seconds) {
  const std::lock_guard lock(mutex_);
  busy_[device] += seconds;
}

std::optional<Plan> LoadBalance::rebalanced_plan(const Plan& plan, int count, int left, bool settled) {
  if ((settled && busy_.size() < 2) || equal_parts(plan)) return std::nullopt;
  seen_ += count;
  if (++seen_passes_ < passes_to_see_ || !settled) return std::nullopt;
  std::vector<double> speeds(plan.devices.size(), 0);  // slices and iterations a second
  for (const auto& slab : plan.slabs)
    speeds[static_cast<std::size_t>(slab.device)] +=
        static_cast<double>(slab.interior.count()) * seen_ / std::max(busy_.at(slab.device), 1e-9);
  auto other = rebalanced(plan, speeds);
  const double now = longest(plan, speeds), then = other ? longest(*other, speeds) : now;
  busy_.clear();
  seen_ = seen_passes_ = 0;
  passes_to_see_ *= 2;
  constexpr double clearly = 0.95;
  if (then > clearly * now || (now - then) * left < (plan.resident ? move_seconds(plan, *other) : 0))
    return std::nullopt;
  library_log()->debug("slabs get other borders: an iteration took {:.3g} s, and is to take {:.3g} s", now, then);
  return other;
}

}  // namespace halocline
