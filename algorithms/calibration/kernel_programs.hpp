// The files of cl/ as programs of their own.
#pragma once

#include <string>
#include <vector>

#include "host/opencl/device_info.hpp"

namespace halocline {

struct KernelProgram {
  std::string file;
  std::string options;  ///< macros that the file does not set by itself, of a usual size
};

/// All files with kernels, sorted by name, in the form that they have where no other macro is set.
std::vector<KernelProgram> kernel_programs(const DeviceInfo& device);

}  // namespace halocline
