// Compiling kernels: from memory, from the disk cache, or from source.
#include "host/opencl/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "host/opencl/compiler_log.hpp"
#include "host/system/captured_stderr.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

bool is_library_file(const std::string& file) {
  return file.ends_with(".cl");
}

// The source for an error: the lines of a text with `#line` that the log names, else all.
std::string shown_source(const std::string& file, const std::string& source, const std::string& log) {
  return is_library_file(file) || source.find("\n#line ") == source.npos ? numbered(source) : lines_of_log(source, log);
}

std::string options_for(const DeviceState& state, const KernelSpec& spec) {
  const std::string more = program_options(state.info, spec.file, spec.options);
  return fmt::format("-cl-std=CL1.2 {} {}{}{}", state.quirks.build_options, spec.options, more.empty() ? "" : " ",
                     more);
}

cl::Program build_from_source(DeviceState& state, const KernelSpec& spec, const std::string& source,
                              const std::string& options) {
  const CapturedStderr captured("OpenCL compiler");
  cl::Program program;
  try {
    program = cl::Program(state.context, source);
    program.build(state.device, options.c_str());
  } catch (const cl::Error& error) {
    // Ctrl-C also ends a driver's compiler in another process: its failure is then no fault.
    check_interrupt();
    std::string log;
    try {
      log = program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(state.device);
    } catch (const cl::Error&) {
      log = "(no log)";
    }
    log = in_own_lines(log, source);
    log.resize(log.find_last_not_of(" \n\r") + 1);
    throw BuildError(
        fmt::format("{} does not compile on {} ({}) with options \"{}\":\n{}\n{}", shown_name(spec.file),
                    state.info.name, cl_error_name(error.err()), options, log, shown_source(spec.file, source, log)),
        state.info.name, error.err() == CL_BUILD_PROGRAM_FAILURE);
  }
  return program;
}

// The cache is only a help: whatever is wrong with an entry, the source is built.
std::optional<cl::Program> build_from_cache(DeviceState& state, const std::string& key, const std::string& options) {
  const auto binary = state.cache.load(key);
  if (!binary) return std::nullopt;
  const CapturedStderr captured("OpenCL compiler");
  try {
    cl::Program program(state.context, {state.device}, cl::Program::Binaries{*binary});
    program.build(state.device, options.c_str());
    return program;
  } catch (const cl::Error& error) {
    library_log()->debug("a cached program is built again: {}", cl_error_name(error.err()));
    return std::nullopt;
  }
}

// Builds so far are counted by the length of an entry of their own.
bool built_often(const DeviceState& state, const std::string& key) {
  if (state.quirks.builds_before_binary == 0) return true;
  const std::string counter = key + "\nbuilds";
  auto builds = state.cache.load(counter).value_or(std::vector<unsigned char>());
  builds.push_back('.');
  state.cache.store(counter, builds);
  return builds.size() > state.quirks.builds_before_binary;
}

void keep_binary(const DeviceState& state, const std::string& key, const cl::Program& program) {
  if (!built_often(state, key)) return;
  try {
    const auto binaries = program.getInfo<CL_PROGRAM_BINARIES>();
    if (!binaries.empty() && !binaries[0].empty()) state.cache.store(key, binaries[0]);
  } catch (const cl::Error&) {  // a driver without binaries: nothing to keep
  }
}

cl::Program& program_of(DeviceState& state, const KernelSpec& spec) {
  const std::string options = options_for(state, spec);
  const std::string name = spec.file + "\n" + options;
  const auto found = state.programs.find(name);
  if (found != state.programs.end()) return found->second;
  const std::string source = kernel_source(spec.file);
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", state.info.platform, state.info.vendor,
                                      state.info.name, state.info.version, state.info.driver, options, source);
  auto program = build_from_cache(state, key, options);
  if (!program) {
    const auto begin = std::chrono::steady_clock::now();
    program = build_from_source(state, spec, source, options);
    keep_binary(state, key, *program);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    library_log()->debug("{} compiled for {} in {:.3g} s, with {}", shown_name(spec.file), state.info.name,
                         seconds.count(), options);
  }
  return state.programs.emplace(name, *program).first->second;
}

// A kernel may need so many registers that its groups are smaller than the device's. Kernels that were compiled for a
// size of groups are not checked.
GroupLimits limits_of(const DeviceState& state, const cl::Kernel& kernel) {
  GroupLimits limits = state.groups;
  try {
    const auto compiled = kernel.getWorkGroupInfo<CL_KERNEL_COMPILE_WORK_GROUP_SIZE>(state.device);
    const std::size_t most = kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(state.device);
    if (compiled[0] == 0 && most > 0) limits.items = std::min(limits.items, most);
  } catch (const cl::Error&) {  // the driver does not report it: the device's limits hold
  }
  return limits;
}

}  // namespace

BuiltProgram build_alone(DeviceState& state, const KernelSpec& spec) {
  const cl::Program program = build_from_source(state, spec, kernel_source(spec.file), options_for(state, spec));
  BuiltProgram result{program, {}};
  try {
    result.log = program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(state.device);
  } catch (const cl::Error&) {  // a driver without logs
  }
  return result;
}

std::string shown_name(const std::string& file) {
  return is_library_file(file) ? "cl/" + file : file;
}

CompiledKernel& kernel_of(DeviceState& state, const KernelSpec& spec) {
  const std::string name = fmt::format("{}\n{}\n{}", spec.file, spec.kernel, spec.options);
  const auto found = state.kernels.find(name);
  if (found != state.kernels.end()) return found->second;
  auto& program = program_of(state, spec);
  try {
    const cl::Kernel kernel(program, spec.kernel.c_str());
    return state.kernels.emplace(name, CompiledKernel{kernel, limits_of(state, kernel)}).first->second;
  } catch (const cl::Error& error) {
    throw_cl_error(error.err(), "clCreateKernel", fmt::format("{} in {}", spec.kernel, shown_name(spec.file)),
                   state.info.name);
  }
}

}  // namespace halocline
