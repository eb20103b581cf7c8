// The libraries that transform in device memory, and which of them serves a device.
#pragma once

#include <string>

#include "host/opencl/device.hpp"

namespace halocline {

enum class FftLibrary { clfft, vkfft };

/// Transforms a few rows of 1024 values on the device and compares some frequencies with their sums in float64: "" if
/// they agree and the way back leads to the values, else what is wrong; kernels that the device's compiler refuses,
/// too. Throws ClError if the device fails, Interrupted.
std::string fft_fault(Device device, FftLibrary library);

/// The library of transforms on this device: VkFFT on GPUs and clFFT on others, each for the other where that has a
/// fault, as clFFT has with compilers that are built on clang 22 or later. The answer is remembered, on disk for this
/// device and driver. Throws as fft_fault().
FftLibrary fft_library(const Device& device);

/// Selects the library for transforms that are planned on this device from now on: for tests and benchmarks.
void use_fft_library(const Device& device, FftLibrary library);

}  // namespace halocline
