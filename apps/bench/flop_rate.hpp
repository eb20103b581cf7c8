// Peak of a device's arithmetic, the limit of everything that computes.
#pragma once

#include "host/opencl/device.hpp"

namespace halocline {

/// Operations in float32 a second by a kernel of fused multiply-adds alone, each of which counts as two (cl/bench.cl).
/// Throws ClError.
double flop_rate(const Device& device, double seconds);

}  // namespace halocline
