#include "host/opencl/fft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "host/opencl/fft_plan.hpp"
#include "host/system/captured_stderr.hpp"

namespace halocline {

FftKernels::FftKernels() : setup_(clfft_setup()) {}

std::size_t fft_length(std::size_t n) {
  return std::bit_ceil(std::max<std::size_t>(n, 1));
}

struct Fft::Plan {
  Device device;
  std::size_t length, batch;
  std::unique_ptr<FftPlan> transforms;

  Event transform(bool inverse, const Buffer& data, std::span<const Event> waits) {
    if (data.bytes() < 8 * length * batch)
      throw std::logic_error(fmt::format("fft: array {} is too small", data.name()));
    return fft_event(device, *transforms, inverse, data, waits);
  }
};

// The libraries' own events are those of their last kernel.
Event fft_event(Device& device, FftPlan& plan, bool inverse, const Buffer& data, std::span<const Event> waits) {
  const std::vector<cl::Event> others = wait_list(waits, Queue::compute);
  cl::Event begun;
  try {
    // a marker, for NVIDIA's barriers have no times; the queue is in order
    device.state()->queue(Queue::compute).enqueueMarkerWithWaitList(others.empty() ? nullptr : &others, &begun);
  } catch (const cl::Error& error) {
    throw_cl_error(error.err(), error.what(), "transforms", device.info().name);
  }
  return make_event(*device.state(), plan.transform(inverse, data), Queue::compute,
                    inverse ? "fft inverse" : "fft forward", 0, std::move(begun));
}

namespace {

std::unique_ptr<FftPlan> plan_of(FftLibrary library, const Device& device, std::size_t length, std::size_t batch) {
  const CapturedStderr captured("OpenCL compiler");
  return library == FftLibrary::clfft ? clfft_plan(device, length, batch) : vkfft_plan(device, length, batch);
}

}  // namespace

Fft::Fft(Device device, std::size_t length, std::size_t batch) {
  auto transforms = plan_of(fft_library(device), device, length, batch);
  plan_ = std::make_unique<Plan>(std::move(device), length, batch, std::move(transforms));
}

Fft::~Fft() = default;
Fft::Fft(Fft&&) noexcept = default;

Event Fft::forward(const Buffer& data, std::span<const Event> waits) {
  return plan_->transform(false, data, waits);
}

Event Fft::inverse(const Buffer& data, std::span<const Event> waits) {
  return plan_->transform(true, data, waits);
}

}  // namespace halocline
