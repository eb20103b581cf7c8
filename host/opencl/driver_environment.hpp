// What OpenCL drivers read from the environment when they are first asked for their devices.
#pragma once

namespace halocline {

/// Sets, where nobody has, what PoCL needs on this machine. Without a folder that it can write it has no devices: then
/// POCL_CACHE_DIR, a temporary one. Without the /sys of Linux, as in some containers, its library hwloc sees no CPU and
/// it ends the process: then HWLOC_SYNTHETIC, what the system says of CPUs and memory. To be called before the first
/// call of OpenCL.
void prepare_drivers();

}  // namespace halocline
