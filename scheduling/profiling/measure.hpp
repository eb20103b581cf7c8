// Speed of a device: work on a slab by the wall clock, and a plain copy, the limit of everything that streams.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "scheduling/profiling/run_times.hpp"
#include "scheduling/slabs/device_slab.hpp"

namespace halocline {

/// Plan of the whole volume (and stack of projections) as one slab on device number 0, regardless of memory.
Plan whole_plan(const Requirements& requirements, int batch = 0);

/// Seconds by the wall clock from an idle device to an idle device.
double seconds_of(DeviceSlab& slab, const std::function<void()>& work);

/// The least of several calls of `seconds`, until three are within a tenth of it, for devices in shared use: at most 13
/// calls in about 0.3 s, but at least two unless the first takes 5 s, because it may include compiling or a stall of
/// the driver.
double best_of_tries(const std::function<double()>& seconds);

/// The seconds that run() returns, called until they add up to `seconds`: once at least, `most` times at most. Throws
/// Interrupted after Ctrl-C.
RunTimes repeat(const std::function<double()>& run, int most, double seconds = std::numeric_limits<double>::infinity());

/// Seconds of one call of work(), which only enqueues: runs of as many calls as a fifth of `seconds` allows, each from
/// an idle device to an idle device, and of each the time over its calls; one call if that takes longer than `seconds`.
/// A call before, which compiles, is not counted. Throws Interrupted after Ctrl-C.
RunTimes repeat(DeviceSlab& slab, const std::function<void()>& work, double seconds);

/// Plan of one slab on a device; nothing if that does not fit.
std::optional<Plan> resident_plan(const Device& device, const Requirements& requirements);

/// Two arrays of `bytes` (a multiple of 16), and the kernel that copies `bytes` of the first to the second.
Requirements copy_requirements(std::size_t bytes);
void copy_once(Slab& slab, std::size_t bytes);

/// Bytes read and written a second by a kernel that copies `bytes` bytes (at least 16 KiB) from one buffer to another:
/// the best of five runs after a first call. Needs twice the bytes on the device; throws PlanError if that exceeds the
/// budget.
double copy_bandwidth(const Device& device, std::size_t bytes);

}  // namespace halocline
