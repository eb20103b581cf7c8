// The shape of work-groups per kernel: device -> vendor -> default. Measured; see benchmarks/RESULTS.md.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "host/device_info.hpp"

namespace halocline {

/// Shape of a group for `kernel` on `device`; never larger than the device allows, and not longer than `global` along
/// x.
std::array<std::size_t, 3> work_group_shape(const DeviceInfo& device, const std::string& kernel,
                                            const std::array<std::size_t, 3>& global);

}  // namespace halocline
