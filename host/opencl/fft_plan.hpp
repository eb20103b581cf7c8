// Interface behind Fft: the plan of one library.
#pragma once

#include "host/opencl/fft.hpp"
#include "host/opencl/fft_library.hpp"
#include "host/opencl/opencl.hpp"

namespace halocline {

class FftPlan {
 public:
  virtual ~FftPlan() = default;
  /// Enqueues the transforms of all of `data`'s rows on the compute queue; returns the end of the last command.
  virtual cl::Event transform(bool inverse, const Buffer& data) = 0;
};

/// Throw ClError, also where kernels of the library do not compile (see cannot_build()).
std::unique_ptr<FftPlan> clfft_plan(Device device, std::size_t length, std::size_t batch);
std::unique_ptr<FftPlan> vkfft_plan(const Device& device, std::size_t length, std::size_t batch);

/// The transforms as one event, from `waits` and the commands before to the end of the last one.
Event fft_event(Device& device, FftPlan& plan, bool inverse, const Buffer& data, std::span<const Event> waits);

/// Stands as long as one of these is held: clFFT's set-up of this process, with the kernels that it has compiled.
std::shared_ptr<void> clfft_setup();

}  // namespace halocline
