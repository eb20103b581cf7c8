// Compiling kernels: from memory, from the disk cache, or from source.
#include "host/opencl/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <vector>

#include "host/system/captured_stderr.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

// The log of NVIDIA's compiler, which counts the lines of the whole text, with the names and lines that `#line` states.
std::string in_own_lines(const std::string& log, const std::string& source) {
  std::vector<std::string> places{""};  // of line n, from 1 on
  std::string name = "<kernel>";
  int number = 0;
  std::istringstream lines(source);
  static const std::regex directive(R"re(#line (\d+)(?: "([^"]*)")?.*)re"), place(R"(<kernel>:(\d+):)");
  for (std::string line; std::getline(lines, line);) {
    places.push_back(fmt::format("{}:{}:", name, ++number));
    std::smatch found;
    if (!std::regex_match(line, found, directive)) continue;
    number = std::stoi(found[1]) - 1;
    if (found[2].matched) name = found[2];
  }
  std::string result;
  auto rest = log.cbegin();
  for (std::sregex_iterator each(log.begin(), log.end(), place), end; each != end; ++each) {
    const std::size_t line = std::stoul((*each)[1]);
    result.append(rest, each->prefix().second);
    result += line < places.size() ? places[line] : each->str();
    rest = each->suffix().first;
  }
  return result.append(rest, log.cend());
}

// Line numbers of the compiler: a line `#line 7` makes the next one number 7.
std::string numbered(const std::string& source) {
  std::istringstream in(source);
  std::string line, result;
  for (int number = 1; std::getline(in, line); ++number) {
    result += fmt::format("{:4} {}\n", number, line);
    if (line.starts_with("#line ")) number = std::atoi(line.c_str() + 6) - 1;
  }
  return result;
}

// The library's files are in cl/, other texts are not.
std::string shown_name(const std::string& file) {
  return file.ends_with(".cl") ? "cl/" + file : file;
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
    throw BuildError(
        fmt::format("{} does not compile on {} ({}) with options \"{}\":\n{}\n{}", shown_name(spec.file),
                    state.info.name, cl_error_name(error.err()), options, in_own_lines(log, source), numbered(source)),
        state.info.name);
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
    program = build_from_source(state, spec, source, options);
    keep_binary(state, key, *program);
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
