// What streamed slabs of iterative methods cost (scheduling/planning/skew.hpp).
#pragma once

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// Passes over the volume: reductions end one only where they steer.
double count_streaming_passes(const Requirements& requirements, int iterations_per_pass);

/// Bytes over the bus, both ways, of all passes.
double streaming_bus_bytes(const Plan& plan);

/// Seconds of the slowest device: in a pass that overlaps, the longest of kernels, uploads and downloads, and the first
/// upload and the last download, with which nothing overlaps.
double streaming_seconds(const Plan& plan);

}  // namespace halocline
