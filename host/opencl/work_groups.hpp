// The shape of work-groups: within what the device and the compiled kernel allow; per kernel by device -> vendor ->
// default, as measured (benchmarks/results/nvidia-h200.md).
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include "host/opencl/device_info.hpp"

namespace halocline {

class ClError;

/// The largest work-groups that a device takes, or one compiled kernel on it.
struct GroupLimits {
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::size_t items = none;                           // of a group
  std::array<std::size_t, 3> axes{none, none, none};  // along x, y, z
  bool take(const std::array<std::size_t, 3>& shape) const;
};

/// `shape` halved until the limits take it: along z first, x last, for neighbours along x share memory transactions.
std::array<std::size_t, 3> work_group_within(std::array<std::size_t, 3> shape, const GroupLimits& limits);
/// Shape for kernels that are compiled for the shape of their groups: limited by the device itself.
std::array<std::size_t, 3> work_group_within(std::array<std::size_t, 3> shape, const DeviceInfo& device);

/// Shape of a group for `kernel` on `device`; never larger than the device and `limits` allow, and not longer than
/// `global` along any axis needs; on CPUs only axes of at most one work-item are shortened. `tuned`: what tuning found,
/// instead of the table's.
std::array<std::size_t, 3> work_group_shape(const DeviceInfo& device, const std::string& kernel,
                                            const std::array<std::size_t, 3>& global,
                                            const std::array<std::size_t, 3>* tuned = nullptr,
                                            const GroupLimits& limits = {});

/// True if a launch failed because its groups are larger than the device or the compiled kernel allows: a form of a
/// kernel that is not for this device.
bool exceeds_group_limits(const ClError& error);

}  // namespace halocline
