// How fast open devices are, measured once per device and driver and kept in the cache folder, so that plans are the
// same from run to run. Plans decide times only: results never depend on them.
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
  /// When (seconds since 1970) earlier ones were last forgotten, by the reason; see forget_rates().
  std::map<std::string, std::int64_t> doubted{};
};

/// From the cache, else measured in some hundredths of a second; nothing where measuring failed. Devices of one model,
/// platform, driver and number of compute units share their rates.
std::optional<DeviceRates> device_rates(const Device& device);

/// Keeps the rate of a job's own kernels beside the device's.
void keep_kernel_rate(const Device& device, const std::string& name, double units_per_second);

/// Forgets what is kept of these devices' rates, so that the next process measures them anew; this one goes on with
/// what it knows. `now`: seconds since 1970. At most once a day for each `reason`, because what is measured again may
/// come out the same; and not once for all reasons, because a run that others slowed down may have spoiled good rates,
/// which the next fast one then mends.
void forget_rates(const std::vector<Device>& devices, const std::string& reason, std::int64_t now);

/// Budgets of open devices for the planner, with their rates.
std::vector<DeviceModel> device_models(const std::vector<Device>& devices);

/// A job's own kernels on a small slab in the middle of the volume.
struct KernelTrial {
  int iterations = 1;                               // between two exchanges, that its halos are for
  std::function<void(Slab&, Range views)> prepare;  // brings the slab into a state in which `work` can be repeated
  std::function<void(Slab&, Range views)> work;
  std::function<double(const Slab&, Range views)> units;  // of work, see KernelCost
};

/// Runs the trial for every kind of device whose rate for these kernels is not known, and keeps what was measured,
/// where it matters: the devices differ, or the work takes a second. Failures are left to the run. Whether a rate was
/// measured.
bool learn_kernel_rate(const Requirements& requirements, const std::vector<Device>& devices, const KernelTrial& trial);

/// The text that is kept, and back; nothing if it is damaged or of another version.
std::string rates_text(const DeviceRates& rates);
std::optional<DeviceRates> rates_from_text(const std::string& text);

}  // namespace halocline
