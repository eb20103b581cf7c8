// Cost of streamed slabs of iterative methods (skew.hpp).
#pragma once

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// Passes over the volume: only reductions that steer end one.
double count_streaming_passes(const Requirements& requirements, int iterations_per_pass);

/// Bytes over the bus, both ways, of all passes.
double streaming_bus_bytes(const Plan& plan);

/// Seconds of the slowest device: for each overlapped pass the longest of kernels, uploads and downloads, and the first
/// upload and the last download, which overlap with nothing.
double streaming_seconds(const Plan& plan);

}  // namespace halocline
