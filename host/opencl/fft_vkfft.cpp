// Transforms by VkFFT, a library of headers alone.
#include "host/opencl/fft_plan.hpp"
#define VKFFT_BACKEND 3  // OpenCL
#include <fmt/format.h>
#include <vkFFT.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "host/system/error.hpp"

namespace halocline {
namespace {

// Error code of OpenCL that says what VkFFT's says.
int cl_code_of(VkFFTResult result) {
  switch (result) {
    case VKFFT_ERROR_MALLOC_FAILED:
    case VKFFT_ERROR_FAILED_TO_ALLOCATE_MEMORY:
    case VKFFT_ERROR_FAILED_TO_CREATE_BUFFER:
      return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    case VKFFT_ERROR_FAILED_TO_LAUNCH_KERNEL:
    case VKFFT_ERROR_FAILED_TO_SUBMIT_QUEUE:
      return CL_OUT_OF_RESOURCES;
    default:  // another library may serve
      return CL_BUILD_PROGRAM_FAILURE;
  }
}

struct Shape {
  std::size_t length, batch;
  bool operator==(const Shape&) const = default;
};

void check(VkFFTResult result, const char* call, const Shape& shape, const DeviceState& state) {
  if (result != VKFFT_SUCCESS)
    throw_cl_error(cl_code_of(result), call,
                   fmt::format("{} transforms of length {}, VkFFT's error {}", shape.batch, shape.length,
                               static_cast<int>(result)),
                   state.info.name);
}

// Compiled transforms of one shape, in the device's context. Compiling takes 4 to 10 ms on an H200.
class Application {
 public:
  Application(DeviceState& state, const Shape& shape)
      : device_(state.device()), context_(state.context()), bytes_(8 * shape.length * shape.batch) {
    VkFFTConfiguration configuration = {};
    configuration.FFTdim = 1;
    configuration.size[0] = shape.length;
    configuration.numberBatches = shape.batch;
    configuration.normalize = 1;
    configuration.device = &device_;
    configuration.context = &context_;
    configuration.bufferSize = &bytes_;
    configuration.userTempBuffer = 1;
    configuration.tempBufferSize = &bytes_;
    check(initializeVkFFT(&application_, configuration), "initializeVkFFT", shape, state);
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application() { deleteVkFFT(&application_); }

  std::size_t scratch_bytes() const { return application_.localFFTPlan->numAxisUploads[0] > 1 ? bytes_ : 0; }

  VkFFTResult append(bool inverse, cl_command_queue queue, cl_mem data, cl_mem scratch) {
    const std::lock_guard lock(mutex_);  // VkFFT keeps the arguments of a launch until it is enqueued
    VkFFTLaunchParams launch = {};
    launch.commandQueue = &queue;
    launch.buffer = &data;
    launch.tempBuffer = scratch == nullptr ? &data : &scratch;
    return VkFFTAppend(&application_, inverse ? 1 : -1, &launch);
  }

 private:
  cl_device_id device_;
  cl_context context_;
  std::uint64_t bytes_;
  VkFFTApplication application_ = {};
  std::mutex mutex_;
};

// The device's transforms that were used last: a slab needs those of the slab before.
class Applications {
 public:
  std::shared_ptr<Application> find(DeviceState& state, const Shape& shape) {
    constexpr std::size_t most = 16;
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) { return each.first == shape; });
    if (found != kept_.end()) {
      std::rotate(found, found + 1, kept_.end());
    } else {
      if (kept_.size() == most) kept_.erase(kept_.begin());
      kept_.emplace_back(shape, std::make_shared<Application>(state, shape));
    }
    return kept_.back().second;
  }

 private:
  std::vector<std::pair<Shape, std::shared_ptr<Application>>> kept_;
};

std::shared_ptr<Application> application_of(DeviceState& state, const Shape& shape) {
  const std::lock_guard lock(state.vkfft_mutex);
  if (!state.vkfft_applications) state.vkfft_applications = std::make_shared<Applications>();
  return std::static_pointer_cast<Applications>(state.vkfft_applications)->find(state, shape);
}

class VkFftPlan : public FftPlan {
 public:
  VkFftPlan(Device device, const Shape& shape) : device_(std::move(device)), shape_(shape) {
    if (shape.length == 1) return;
    application_ = application_of(*device_.state(), shape);
    if (const std::size_t bytes = application_->scratch_bytes(); bytes > 0)
      scratch_ = device_.buffer("fft scratch", bytes);
  }

  // VkFFT has no events: the queue is in order, and a marker replaces them.
  cl::Event transform(bool inverse, const Buffer& data) override {
    DeviceState& state = *device_.state();
    cl::CommandQueue& queue = state.queue(Queue::compute);
    cl::Event ended;
    try {
      if (application_)
        check(application_->append(inverse, queue(), static_cast<cl_mem>(data.handle()),
                                   static_cast<cl_mem>(scratch_.handle())),
              "VkFFTAppend", shape_, state);
      queue.enqueueMarkerWithWaitList(nullptr, &ended);
    } catch (const cl::Error& error) {
      throw_cl_error(error.err(), error.what(), fmt::format("{} transforms of length {}", shape_.batch, shape_.length),
                     state.info.name);
    }
    return ended;
  }

 private:
  Device device_;
  Shape shape_;
  std::shared_ptr<Application> application_;
  Buffer scratch_;
};

}  // namespace

std::unique_ptr<FftPlan> vkfft_plan(const Device& device, std::size_t length, std::size_t batch) {
  return std::make_unique<VkFftPlan>(device, Shape{length, batch});
}

}  // namespace halocline
