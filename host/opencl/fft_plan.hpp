// Interface behind Fft: the plan of one library.
#pragma once

#include "host/opencl/fft.hpp"
#include "host/opencl/fft_library.hpp"
#include "host/opencl/opencl.hpp"

namespace halocline {

class FftPlan {
 public:
  virtual ~FftPlan() = default;
  /// Enqueues the transforms of all of `data`'s rows; an event of the compute queue.
  virtual cl::Event transform(bool inverse, const Buffer& data, const std::vector<cl::Event>& waits) = 0;
};

/// Throw ClError, also where kernels of the library do not compile (see cannot_build()).
std::unique_ptr<FftPlan> clfft_plan(Device device, std::size_t length, std::size_t batch);
std::unique_ptr<FftPlan> vkfft_plan(const Device& device, std::size_t length, std::size_t batch);

/// Stands as long as one of these is held: clFFT's set-up of this process, with the kernels that it has compiled.
std::shared_ptr<void> clfft_setup();

}  // namespace halocline
