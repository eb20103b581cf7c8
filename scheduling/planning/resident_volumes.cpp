#include "scheduling/planning/resident_volumes.hpp"

#include <algorithm>
#include <optional>

#include "host/system/error.hpp"

namespace halocline {
namespace {

using Jobs = std::vector<std::function<Plan(const PlanOptions&)>>;

std::vector<DeviceShare> shares_of(const Plan& plan) {
  std::vector<DeviceShare> shares;
  for (const auto& slab : plan.slabs) {
    const std::string& name = plan.device_of(slab).name;
    if (!shares.empty() && shares.back().device == name)
      shares.back().slices.end = slab.interior.end;
    else
      shares.push_back({name, slab.interior});
  }
  return shares;
}

bool same(const std::vector<DeviceShare>& a, const std::vector<DeviceShare>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const DeviceShare& x, const DeviceShare& y) {
    return x.device == y.device && x.slices == y.slices;
  });
}

double seconds_of(const std::vector<Plan>& plans) {
  double seconds = 0;
  for (const auto& plan : plans) seconds += plan.seconds;
  return seconds;
}

bool leaves_its_devices(const Plan& plan) {
  return !plan.resident && !plan.streamed;
}

// The plans with the first `count` volumes on the devices, if all fit.
std::optional<std::vector<Plan>> plans_with(const Jobs& jobs, const std::vector<PassedVolume>& volumes,
                                            std::size_t count, const std::vector<DeviceShare>& shares,
                                            std::size_t slice_bytes) {
  std::vector<Plan> plans;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    PlanOptions options;
    for (std::size_t n = 0; n < count; ++n) {
      const auto& arrays = volumes[n].arrays;
      if (job < arrays.begin()->first || job > arrays.rbegin()->first) continue;
      for (const auto& share : shares) options.reserved[share.device] += slice_bytes * share.slices.size();
      if (const auto array = arrays.find(job); array != arrays.end()) options.on_devices.insert(array->second);
    }
    try {
      plans.push_back(jobs[job](options));
    } catch (const PlanError&) {
      return std::nullopt;
    }
  }
  return plans;
}

}  // namespace

ResidentVolumesPlan plan_resident_volumes(const Jobs& jobs, const std::vector<PassedVolume>& volumes) {
  ResidentVolumesPlan result;
  for (const auto& job : jobs) result.plans.push_back(job({}));
  const auto& size = result.plans.back().requirements.size;
  const std::size_t slice_bytes = size[0] * size[1] * sizeof(float);
  constexpr int tries = 3;  // memory that is held changes the shares, and these the memory
  for (std::size_t count = volumes.size(); count > 0; --count) {
    auto shares = shares_of(result.plans.back());
    for (int n = 0; n < tries; ++n) {
      const auto plans = plans_with(jobs, volumes, count, shares, slice_bytes);
      if (!plans) break;
      const auto again = shares_of(plans->back());
      if (!same(shares, again)) {
        shares = again;
        continue;
      }
      bool as_good = seconds_of(*plans) <= seconds_of(result.plans);
      for (std::size_t job = 0; job < jobs.size(); ++job)
        as_good = as_good && !(leaves_its_devices((*plans)[job]) && !leaves_its_devices(result.plans[job]));
      if (!as_good) break;
      for (std::size_t volume = 0; volume < count; ++volume) result.resident.insert(volumes[volume].name);
      result.shares = std::move(shares);
      result.plans = *plans;
      return result;
    }
  }
  return result;
}

}  // namespace halocline
