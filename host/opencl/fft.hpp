// Batched one-dimensional complex FFTs in device memory. Behind this header: clFFT or VkFFT (fft_library.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "host/opencl/device.hpp"

namespace halocline {

/// The smallest power of two >= n: clFFT compiles other lengths several times more slowly (15 s against 2 s for 1125 on
/// PoCL), and the FFT is a small part of a reconstruction.
std::size_t fft_length(std::size_t n);

/// Keeps kernels for transforms on all devices during its lifetime, for jobs of several runs. It must be destroyed
/// before the process ends.
class FftKernels {
 public:
  FftKernels();

 private:
  std::shared_ptr<void> setup_;
};

/// In-place complex-to-complex transforms of `batch` contiguous rows of `length` float2 (re, im). The inverse divides
/// by `length`.
class Fft {
 public:
  Fft(Device device, std::size_t length, std::size_t batch);
  ~Fft();
  Fft(Fft&&) noexcept;
  Event forward(const Buffer& data, std::span<const Event> waits = {});
  Event inverse(const Buffer& data, std::span<const Event> waits = {});

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace halocline
