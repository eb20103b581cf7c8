// Comparison of FDK's row filter on a device with sums in float64, on a few rows.
#pragma once

#include <cstddef>

#include "host/opencl/device.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

struct RowFilterTrial {
  Volume filtered, expected;  ///< columns x 3 rows x 2 views
  double tolerance = 0;       ///< by which rounding in float32 may set a value apart
};

/// Rows of a parallel beam, filtered in local memory, or else in device memory, by transforms of `length`, a power of
/// two from 2 on, of which less than half are measured. Throws PlanError, ClError, BuildError.
RowFilterTrial row_filter_trial(const Device& device, std::size_t length, bool in_local_memory = true);

}  // namespace halocline
