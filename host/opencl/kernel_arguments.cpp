#include "host/opencl/kernel_arguments.hpp"

#include <fmt/format.h>

#include "host/opencl/opencl.hpp"
#include "host/opencl/program.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// Drivers count the 0 at the end of a text or do not.
std::string without_zero(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace

std::string text_of(const DeclaredArgument& argument) {
  return fmt::format("{}{}{} {}", argument.global ? "__global " : "", argument.is_constant ? "const " : "",
                     argument.type, argument.name);
}

bool takes_floats(const DeclaredArgument& argument, bool written) {
  return argument.global && argument.type == "float*" && !(argument.is_constant && written);
}

DeclaredArguments declared_arguments(Device& device, const KernelSpec& spec) {
  DeviceState& state = *device.state();
  const std::lock_guard lock(state.launch_mutex);
  const cl::Kernel& kernel = kernel_of(state, spec).kernel;
  DeclaredArguments result;
  try {
    result.count = kernel.getInfo<CL_KERNEL_NUM_ARGS>();
  } catch (const cl::Error& error) {
    throw_cl_error(error.err(), "clGetKernelInfo", spec.kernel, state.info.name);
  }
  try {
    for (cl_uint n = 0; n < result.count; ++n) {
      const bool global = kernel.getArgInfo<CL_KERNEL_ARG_ADDRESS_QUALIFIER>(n) == CL_KERNEL_ARG_ADDRESS_GLOBAL;
      const bool constant = (kernel.getArgInfo<CL_KERNEL_ARG_TYPE_QUALIFIER>(n) & CL_KERNEL_ARG_TYPE_CONST) != 0;
      result.list.push_back({without_zero(kernel.getArgInfo<CL_KERNEL_ARG_NAME>(n)),
                             without_zero(kernel.getArgInfo<CL_KERNEL_ARG_TYPE_NAME>(n)), global, constant});
    }
  } catch (const cl::Error&) {  // CL_KERNEL_ARG_INFO_NOT_AVAILABLE
    result.list.clear();
  }
  return result;
}

bool is_wrong_argument(const ClError& error) {
  return error.code() == CL_INVALID_ARG_INDEX || error.code() == CL_INVALID_ARG_VALUE ||
         error.code() == CL_INVALID_ARG_SIZE || error.code() == CL_INVALID_KERNEL_ARGS;
}

}  // namespace halocline
