// How fast a device is: work on a slab by the wall clock, and a plain copy, the limit of everything that streams.
#pragma once

#include <cstddef>
#include <functional>

#include "scheduling/slab.hpp"

namespace halocline {

/// The whole volume (and stack of projections) as one slab on device number 0, whatever memory there is.
Plan whole_plan(const Requirements& requirements, int batch = 0);

/// Seconds by the wall clock from an idle device to an idle device.
double seconds_of(Slab& slab, const std::function<void()>& work);

/// Bytes read and written a second by a kernel that copies `bytes` bytes (at least 16 KiB) from one buffer to another:
/// the best of five runs, the first call and what it compiles not counted. Needs twice the bytes on the device; throws
/// PlanError if that passes the budget.
double copy_bandwidth(const Device& device, std::size_t bytes);

}  // namespace halocline
