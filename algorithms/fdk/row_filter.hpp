// The row filter of filtered back-projection in local memory (cl/fdk_rows.cl): where a device has room for a row, one
// kernel weights, transforms, filters and transforms back, where otherwise four pass over device memory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// The longest transform, a power of two, that FDK shall do in the local memory of all devices of these ranks, which
/// all call it; 0: none. GPUs do what their memory holds. CPUs, where barriers are slow, do so only if clFFT does not
/// work there. A device on which the kernel is wrong (self_check.hpp) does none, with a warning. length: of the
/// transforms to do, which alone is checked then; none: unknown. Throws as require_one_fft_library() does for 0,
/// ClError, Interrupted.
std::size_t longest_local_rows(const std::vector<Device>& devices, std::optional<std::size_t> length = std::nullopt,
                               Ranks& all = one_rank());

/// The same for plans, which take the kernel to be right and clFFT to work on CPUs.
std::size_t longest_local_rows(std::span<const DeviceModel> models, std::size_t length);

/// Throws InputError that names a rank which transforms rows in device memory by another library than the first one.
void require_one_fft_library(const std::vector<Device>& devices, Ranks& all);

/// The longest for which the device has local memory.
std::size_t longest_rows_in(const DeviceInfo& device);

/// Work-items of a group for a transform of that length.
std::size_t local_row_items(const DeviceInfo& device, std::size_t length);

/// The table of cl/fourier.clh for a transfer function, whose length is a power of two.
std::vector<float> local_row_table(std::span<const double> transfer);

}  // namespace halocline
