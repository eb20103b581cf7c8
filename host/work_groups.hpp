// The shape of work-groups per kernel: device -> vendor -> default. Measured; see benchmarks/RESULTS.md.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "host/device_info.hpp"

namespace halocline {

/// Shape of a group for `kernel` on `device`; never larger than the device allows, and not longer than `global` along
/// any axis needs. `tuned`: what `halocline tune` found for it, instead of the table's.
std::array<std::size_t, 3> work_group_shape(const DeviceInfo& device, const std::string& kernel,
                                            const std::array<std::size_t, 3>& global,
                                            const std::array<std::size_t, 3>* tuned = nullptr);

}  // namespace halocline
