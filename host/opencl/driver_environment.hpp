// Environment variables that OpenCL drivers read when they are first asked for their devices.
#pragma once

namespace halocline {

/// Sets variables that PoCL needs on this machine, unless they are set. Without a writable folder it has no devices:
/// POCL_CACHE_DIR is then a temporary one. Without the /sys of Linux, as in some containers, its library hwloc finds no
/// CPU and it ends the process: HWLOC_SYNTHETIC is then the system's description of CPUs and memory. Must be called
/// before the first call of OpenCL.
void prepare_drivers();

}  // namespace halocline
