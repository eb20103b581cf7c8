// Transforms by VkFFT, a library of headers alone.
#include "host/opencl/fft_plan.hpp"
#define VKFFT_BACKEND 3  // OpenCL
#include <fmt/format.h>
#include <vkFFT.h>

#include "host/system/error.hpp"

namespace halocline {
namespace {

class VkFftPlan : public FftPlan {
 public:
  VkFftPlan(const Device& device, std::size_t length, std::size_t batch);
  VkFftPlan(const VkFftPlan&) = delete;
  VkFftPlan& operator=(const VkFftPlan&) = delete;
  ~VkFftPlan() override { deleteVkFFT(&application_); }
  cl::Event transform(bool inverse, const Buffer& data, const std::vector<cl::Event>& waits) override;

 private:
  void check(VkFFTResult result, const char* call) const;

  std::shared_ptr<DeviceState> state_;
  std::size_t length_, batch_;
  cl_device_id device_;
  cl_context context_;
  std::uint64_t bytes_;
  VkFFTApplication application_ = {};
};

int cl_code_of(VkFFTResult result) {
  switch (result) {
    case VKFFT_ERROR_FAILED_TO_COMPILE_PROGRAM:
    case VKFFT_ERROR_FAILED_TO_CREATE_PROGRAM:
      return CL_BUILD_PROGRAM_FAILURE;
    case VKFFT_ERROR_MALLOC_FAILED:
    case VKFFT_ERROR_FAILED_TO_ALLOCATE_MEMORY:
    case VKFFT_ERROR_FAILED_TO_CREATE_BUFFER:
      return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    default:
      return CL_OUT_OF_RESOURCES;
  }
}

void VkFftPlan::check(VkFFTResult result, const char* call) const {
  if (result != VKFFT_SUCCESS)
    throw_cl_error(
        cl_code_of(result), call,
        fmt::format("{} transforms of length {}, VkFFT's error {}", batch_, length_, static_cast<int>(result)),
        state_->info.name);
}

VkFftPlan::VkFftPlan(const Device& device, std::size_t length, std::size_t batch)
    : state_(device.state()),
      length_(length),
      batch_(batch),
      device_(state_->device()),
      context_(state_->context()),
      bytes_(8 * length * batch) {
  VkFFTConfiguration configuration = {};
  configuration.FFTdim = 1;
  configuration.size[0] = length;
  configuration.numberBatches = batch;
  configuration.normalize = 1;
  configuration.device = &device_;
  configuration.context = &context_;
  configuration.bufferSize = &bytes_;
  if (length > 1) check(initializeVkFFT(&application_, configuration), "initializeVkFFT");
}

// VkFFT has no events: the queue is in order, and markers replace them.
cl::Event VkFftPlan::transform(bool inverse, const Buffer& data, const std::vector<cl::Event>& waits) {
  cl::CommandQueue& queue = state_->queue(Queue::compute);
  cl::Event ended;
  try {
    if (!waits.empty()) queue.enqueueBarrierWithWaitList(&waits);
    auto handle = queue();
    auto memory = static_cast<cl_mem>(data.handle());
    VkFFTLaunchParams launch = {};
    launch.commandQueue = &handle;
    launch.buffer = &memory;
    if (length_ > 1) check(VkFFTAppend(&application_, inverse ? 1 : -1, &launch), "VkFFTAppend");
    queue.enqueueMarkerWithWaitList(nullptr, &ended);
  } catch (const cl::Error& error) {
    throw_cl_error(error.err(), error.what(), fmt::format("{} transforms of length {}", batch_, length_),
                   state_->info.name);
  }
  return ended;
}

}  // namespace

std::unique_ptr<FftPlan> vkfft_plan(const Device& device, std::size_t length, std::size_t batch) {
  return std::make_unique<VkFftPlan>(device, length, batch);
}

}  // namespace halocline
