// Work on voxels where they are on a device.
#pragma once

#include <cstddef>

#include "host/volume/run_sums.hpp"

namespace halocline {

/// `count` voxels at a place once `after` has ended: less `shift`; divided by `divisor`, or as CT numbers (see
/// HounsfieldSink), in float64; brought into [minimum, maximum]. The end of it.
Event subtract_on_device(const DevicePlace& at, std::size_t count, float shift, const Event& after);
Event divide_on_device(const DevicePlace& at, std::size_t count, double divisor, const Event& after);
Event hounsfield_on_device(const DevicePlace& at, std::size_t count, double water, bool variance, const Event& after);
Event clamp_on_device(const DevicePlace& at, std::size_t count, float minimum, float maximum, const Event& after);

}  // namespace halocline
