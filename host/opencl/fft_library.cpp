#include "host/opencl/fft_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "host/opencl/fft_plan.hpp"
#include "host/opencl/trial_values.hpp"
#include "host/system/captured_stderr.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

constexpr std::size_t trial_length = 1024, trial_rows = 3;

std::string first_error_of(const std::string& log) {
  const std::size_t at = log.find("error:");
  return at == std::string::npos ? "no log" : log.substr(at + 7, log.find('\n', at) - at - 7);
}

// clFFT's kernels take a pointer to float2 for one to float4, which compilers built on clang 22 or later refuse, and
// some others always have. clFFT prints their log to stdout; so this asks first.
std::string refusal_of_pointers(DeviceState& state) {
  const char* source = "__kernel void probe(__global float2* a) { __global float4* b = a; b[0] = b[1]; }";
  cl::Program program;
  try {
    program = cl::Program(state.context, source);
    program.build(state.device, state.quirks.build_options.c_str());
    return {};
  } catch (const cl::Error& error) {
    check_interrupt();
    if (error.err() != CL_BUILD_PROGRAM_FAILURE) throw_cl_error(error.err(), error.what(), "", state.info.name);
    return first_error_of(program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(state.device));
  }
}

// Assertions of clFFT end the process with less (2.12.2).
constexpr std::size_t local_memory_of_clfft = 32 << 10;

bool is_build_failure(const ClError& error) {
  return error.code() == CL_BUILD_PROGRAM_FAILURE || error.code() == CL_INVALID_PROGRAM ||
         error.code() == CL_INVALID_PROGRAM_EXECUTABLE || error.code() == CL_INVALID_BUILD_OPTIONS;
}

using Values = std::vector<std::complex<float>>;

Values trial_values() {
  Values values(trial_rows * trial_length);
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = {trial_value(n), trial_value(n * n)};
  return values;
}

std::complex<double> sum_at(const Values& values, std::size_t row, std::size_t frequency) {
  std::complex<double> sum = 0;
  for (std::size_t n = 0; n < trial_length; ++n)
    sum += std::complex<double>(values[row * trial_length + n]) *
           std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(frequency * n % trial_length) / trial_length);
  return sum;
}

std::string difference(const char* what, std::complex<double> found, std::complex<double> expected, double tolerance) {
  if (std::abs(found - expected) <= tolerance) return {};
  return fmt::format("a value of its {} transform is {:.9g} + {:.9g} i instead of {:.9g} + {:.9g} i", what,
                     found.real(), found.imag(), expected.real(), expected.imag());
}

std::string fault_of(FftPlan& plan, Device& device) {
  const Values values = trial_values();
  Buffer data = device.buffer("fft trial", values.size() * sizeof values[0]);
  const auto transformed = [&](bool inverse, const Event& before) {
    const Event ended = fft_event(device, plan, inverse, data, {&before, 1});
    Values result(values.size());
    device.read(data, 0, result.data(), data.bytes(), {&ended, 1}).wait();
    return result;
  };
  const double largest = trial_length, tolerance = 1e-5 * largest;  // float32 rounds to a few 1e-7 of the largest value
  const Values spectrum = transformed(false, device.write(data, 0, values.data(), data.bytes()));
  for (std::size_t row = 0; row < trial_rows; ++row)
    for (std::size_t k = 0; k < trial_length; k += 61)
      if (auto fault = difference("forward", spectrum[row * trial_length + k], sum_at(values, row, k), tolerance);
          !fault.empty())
        return fault;
  const Values back = transformed(true, {});
  for (std::size_t n = 0; n < values.size(); ++n)
    if (auto fault = difference("inverse", back[n], values[n], 1e-5); !fault.empty()) return fault;
  return {};
}

std::string key_of(const DeviceInfo& info) {
  return fmt::format("fft library 2\n{}\n{}\n{}\n{}\n{}\n{}\n{}", info.platform, info.vendor, model_of(info),
                     info.version, info.driver, info.local_memory, info.max_work_group);
}

const char* name_of(FftLibrary library) {
  return library == FftLibrary::vkfft ? "VkFFT" : "clFFT";
}

FftLibrary find_library(const Device& device) {
  const DeviceState& state = *device.state();
  const std::string key = key_of(state.info);
  if (const auto stored = state.cache.load(key); stored && stored->size() == 1)
    return stored->front() == 'v' ? FftLibrary::vkfft : FftLibrary::clfft;
  // On an H200 VkFFT filters rows of 1024 columns 7 times as fast (benchmarks/results/nvidia-h200.md).
  const bool gpu = !state.info.cpu();
  const FftLibrary preferred = gpu ? FftLibrary::vkfft : FftLibrary::clfft,
                   other = gpu ? FftLibrary::clfft : FftLibrary::vkfft;
  const std::string fault = fft_fault(device, preferred);
  if (!fault.empty()) {
    library_log()->debug("{}: {} transforms, for {} does not work here: {}", state.info.name, name_of(other),
                         name_of(preferred), fault);
    if (const std::string second = fft_fault(device, other); !second.empty())
      throw ClError(fmt::format("neither {} ({}) nor {} ({}) transforms rightly on {} with the driver {}; choose "
                                "another `device`, or try another driver",
                                name_of(preferred), fault, name_of(other), second, state.info.name, state.info.driver),
                    CL_INVALID_OPERATION, state.info.name);
  }
  const FftLibrary found = fault.empty() ? preferred : other;
  state.cache.store(key, {static_cast<unsigned char>(found == FftLibrary::vkfft ? 'v' : 'c')});
  return found;
}

}  // namespace

std::string fft_fault(Device device, FftLibrary library) {
  const CapturedStderr captured("OpenCL compiler");
  try {
    if (library == FftLibrary::clfft && device.info().local_memory < local_memory_of_clfft)
      return fmt::format("it needs {} bytes of local memory, of which there are {}", local_memory_of_clfft,
                         device.info().local_memory);
    if (library == FftLibrary::clfft)
      if (const std::string refusal = refusal_of_pointers(*device.state()); !refusal.empty())
        return "its kernels do not compile: " + refusal;
    const auto plan = library == FftLibrary::clfft ? clfft_plan(device, trial_length, trial_rows)
                                                   : vkfft_plan(device, trial_length, trial_rows);
    return fault_of(*plan, device);
  } catch (const ClError& error) {
    if (!is_build_failure(error)) throw;
    return fmt::format("its kernels do not compile: {}", error.what());
  }
}

FftLibrary fft_library(const Device& device) {
  DeviceState& state = *device.state();
  const std::lock_guard lock(state.fft_mutex);
  if (!state.fft_library) state.fft_library = find_library(device);
  return *state.fft_library;
}

void use_fft_library(const Device& device, FftLibrary library) {
  DeviceState& state = *device.state();
  const std::lock_guard lock(state.fft_mutex);
  state.fft_library = library;
}

}  // namespace halocline
