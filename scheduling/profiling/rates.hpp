// Rates of open devices, measured once per device and driver and kept in the cache folder, so that plans are the same
// from run to run. Results never depend on them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/slabs/slab.hpp"

namespace halocline {

/// Bytes a second and seconds, as in DeviceModel.
struct DeviceRates {
  double copy = 0, upload = 0, download = 0, latency = 0;
  std::map<std::string, double> kernels;  // units of work a second, by KernelCost::name
  /// Time (seconds since 1970) at which earlier rates were last forgotten, by the reason; see forget_rates().
  std::map<std::string, std::int64_t> doubted{};
};

/// Rates from the cache, else measured in some hundredths of a second; nothing where measuring failed. Devices of one
/// model, platform, driver and number of compute units share them.
std::optional<DeviceRates> device_rates(const Device& device);

/// Stores the rate of a job's own kernels with the device's.
void keep_kernel_rate(const Device& device, const std::string& name, double units_per_second);

/// Forgets the stored rates of these devices, so that the next process measures them again; this one keeps its own.
/// `now`: seconds since 1970. At most once a day for each `reason`, because new rates may be the same; and for each
/// reason separately, because a slowed-down run may have spoiled good rates, which the next fast one then mends.
void forget_rates(const std::vector<Device>& devices, const std::string& reason, std::int64_t now);

/// Models of open devices for the planner, with budgets and rates.
std::vector<DeviceModel> device_models(const std::vector<Device>& devices);

/// Trial of a job's own kernels on a small slab in the middle of the volume.
struct KernelTrial {
  int iterations = 1;                               // between two exchanges, for the halos
  std::function<void(Slab&, Range views)> prepare;  // prepares the slab for any number of calls of `work`
  std::function<void(Slab&, Range views)> work;
  std::function<double(const Slab&, Range views)> units;  // of work, see KernelCost
};

/// Runs the trial for every kind of device without a rate for these kernels, where it matters: the devices differ, or
/// the work takes a second. Returns true if a rate was measured. Failures are left to the run.
bool learn_kernel_rate(const Requirements& requirements, const std::vector<Device>& devices, const KernelTrial& trial);

}  // namespace halocline
