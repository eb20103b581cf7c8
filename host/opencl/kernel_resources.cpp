#include "host/opencl/kernel_resources.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

#include "host/opencl/opencl.hpp"
#include "host/opencl/program.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

KernelResources resources_of(const DeviceState& state, const cl::Kernel& kernel) {
  KernelResources result{
      .kernel = kernel.getInfo<CL_KERNEL_FUNCTION_NAME>(),
      .private_bytes = kernel.getWorkGroupInfo<CL_KERNEL_PRIVATE_MEM_SIZE>(state.device),
      .local_bytes = kernel.getWorkGroupInfo<CL_KERNEL_LOCAL_MEM_SIZE>(state.device),
      .group_multiple = kernel.getWorkGroupInfo<CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE>(state.device),
      .largest_group = kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(state.device),
      .registers = {},
      .spilled_bytes = {}};
  while (!result.kernel.empty() && result.kernel.back() == '\0') result.kernel.pop_back();
  return result;
}

}  // namespace

std::map<std::string, RegisterUse> register_use(const std::string& log) {
  static const std::regex entry(R"(entry function '(\w+)')");
  static const std::regex spills(R"((\d+) bytes spill stores, (\d+) bytes spill loads)");
  static const std::regex used(R"(Used (\d+) registers)");
  std::map<std::string, RegisterUse> result;
  std::istringstream lines(log);
  std::string line, kernel;
  RegisterUse use;
  for (std::smatch match; std::getline(lines, line);) {
    if (std::regex_search(line, match, entry)) {
      kernel = match[1];
      use = {};
    } else if (std::regex_search(line, match, spills)) {
      use.spilled_bytes = std::stoul(match[1]) + std::stoul(match[2]);
    } else if (!kernel.empty() && std::regex_search(line, match, used)) {
      use.registers = std::stoul(match[1]);
      result[kernel] = use;
      kernel.clear();
    }
  }
  return result;
}

std::vector<KernelResources> kernel_resources(const Device& device, const std::string& file,
                                              const std::string& options) {
  DeviceState& state = *device.state();
  const bool nvidia = state.info.platform.find("NVIDIA") != std::string::npos;
  const BuiltProgram built = build_alone(state, {file, "", options + (nvidia ? " -cl-nv-verbose" : "")});
  const auto use = register_use(built.log);
  std::vector<KernelResources> result;
  try {
    cl::Program program = built.program;
    std::vector<cl::Kernel> kernels;
    program.createKernels(&kernels);
    for (const cl::Kernel& kernel : kernels) {
      result.push_back(resources_of(state, kernel));
      if (const auto found = use.find(result.back().kernel); found != use.end()) {
        result.back().registers = found->second.registers;
        result.back().spilled_bytes = found->second.spilled_bytes;
      }
    }
  } catch (const cl::Error& error) {
    throw_cl_error(error.err(), "clGetKernelWorkGroupInfo", shown_name(file), state.info.name);
  }
  std::ranges::sort(result, {}, &KernelResources::kernel);
  return result;
}

}  // namespace halocline
