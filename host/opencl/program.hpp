// The kernel of a spec on a device, compiled once a process.
#pragma once

#include <string>

#include "host/opencl/opencl.hpp"

namespace halocline {

/// Throws BuildError with log, options and numbered source (of texts with `#line` the lines that the log names);
/// ClError if the file has no such kernel.
CompiledKernel& kernel_of(DeviceState& state, const KernelSpec& spec);

struct BuiltProgram {
  cl::Program program;
  std::string log;
};
/// The program of a spec, without its kernel, compiled from source whatever has been compiled before, with the
/// compiler's log. Throws BuildError as kernel_of() does.
BuiltProgram build_alone(DeviceState& state, const KernelSpec& spec);

/// The name of a kernel file for messages: the library's are in cl/, texts of users are not.
std::string shown_name(const std::string& file);

}  // namespace halocline
