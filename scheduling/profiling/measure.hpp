// Speed of a device: work on a slab by the wall clock, and a plain copy, the limit of everything that streams.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "scheduling/slabs/device_slab.hpp"

namespace halocline {

/// The whole volume (and stack of projections) as one slab on device number 0, whatever memory there is.
Plan whole_plan(const Requirements& requirements, int batch = 0);

/// Seconds by the wall clock from an idle device to an idle device.
double seconds_of(DeviceSlab& slab, const std::function<void()>& work);

/// The least of the times that `seconds` says, which is asked again until three are within a tenth of it: a device that
/// others use as well takes another time at every try. At most 13 times, and not for much longer than 0.3 s in all; but
/// twice, unless the first takes 5 s, for it may include compiling, or a driver's stall.
double best_of_tries(const std::function<double()>& seconds);

/// Seconds of one call of work(), which only enqueues: the best of several runs of as many calls as a fifth of
/// `seconds` allows, each from an idle device to an idle device; one call if that takes longer than `seconds`. A call
/// before, which compiles, is not counted. Throws Interrupted after Ctrl-C.
double best_seconds(DeviceSlab& slab, const std::function<void()>& work, double seconds);

/// The plan for a device that is to hold all of it as one slab; none if that does not fit.
std::optional<Plan> resident_plan(const Device& device, const Requirements& requirements);

/// Two arrays of `bytes` (a multiple of 16), and the kernel that copies the first of them, of which it takes `bytes`.
Requirements copy_requirements(std::size_t bytes);
void copy_once(Slab& slab, std::size_t bytes);

/// Bytes read and written a second by a kernel that copies `bytes` bytes (at least 16 KiB) from one buffer to another:
/// the best of five runs, the first call and what it compiles not counted. Needs twice the bytes on the device; throws
/// PlanError if that passes the budget.
double copy_bandwidth(const Device& device, std::size_t bytes);

}  // namespace halocline
