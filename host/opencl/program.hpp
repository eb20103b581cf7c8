// The kernel of a spec on a device, compiled once a process.
#pragma once

#include "host/opencl/opencl.hpp"

namespace halocline {

/// Throws BuildError with log, options and numbered source (of texts with `#line` the lines that the log names);
/// ClError if the file has no such kernel.
CompiledKernel& kernel_of(DeviceState& state, const KernelSpec& spec);

}  // namespace halocline
