// Transforms by clFFT.
#include <clFFT.h>
#include <fmt/format.h>

#include <mutex>
#include <utility>
#include <vector>

#include "host/opencl/fft_plan.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// clFFT has one global set-up a process. Its own locks make transforms of several threads safe, but not the baking of
// plans: two that bake the same one end the process (2.12.2). The set-up lives as long as there are plans or
// FftKernels: destroyed at the end of the process, when drivers may be gone, it has crashed.
class Setup {
 public:
  // Key of a baked plan. The context outlives it.
  struct Key {
    cl::Context context;
    cl_device_id device;
    std::size_t length, batch;
    bool operator==(const Key& other) const {
      return context() == other.context() && device == other.device && length == other.length && batch == other.batch;
    }
  };

  Setup() {
    clfftSetupData data;
    clfftInitSetupData(&data);
    const clfftStatus status = clfftSetup(&data);
    if (status != CLFFT_SUCCESS)
      throw ClError(fmt::format("clfftSetup failed ({})", static_cast<int>(status)), status, "");
  }
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;
  ~Setup() {
    for (auto& [key, handle] : idle_) clfftDestroyPlan(&handle);
    clfftTeardown();
  }

  // An unused plan, or 0. Baking one takes a third of a small reconstruction.
  clfftPlanHandle take(const Key& key) {
    const std::lock_guard lock(mutex_);
    for (auto each = idle_.begin(); each != idle_.end(); ++each)
      if (each->first == key) {
        const clfftPlanHandle handle = each->second;
        idle_.erase(each);
        return handle;
      }
    return 0;
  }
  // Keeps the plans that were used last. A plan holds no memory of the device.
  void give_back(const Key& key, clfftPlanHandle handle) {
    constexpr std::size_t most = 16;
    const std::lock_guard lock(mutex_);
    idle_.emplace_back(key, handle);
    if (idle_.size() <= most) return;
    clfftDestroyPlan(&idle_.front().second);
    idle_.erase(idle_.begin());
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<Key, clfftPlanHandle>> idle_;
};

std::shared_ptr<Setup> the_setup() {
  static std::mutex mutex;
  static std::weak_ptr<Setup> current;
  const std::lock_guard lock(mutex);
  auto setup = current.lock();
  if (!setup) current = setup = std::make_shared<Setup>();
  return setup;
}

class ClFftPlan : public FftPlan {
 public:
  ClFftPlan(Device device, std::size_t length, std::size_t batch)
      : device_(std::move(device)),
        length_(length),
        batch_(batch),
        key_{device_.state()->context, device_.state()->device(), length, batch} {}
  ClFftPlan(const ClFftPlan&) = delete;
  ClFftPlan& operator=(const ClFftPlan&) = delete;
  ~ClFftPlan() override {
    if (baked_)
      setup_->give_back(key_, handle_);
    else if (handle_ != 0)
      clfftDestroyPlan(&handle_);
  }
  void make();
  cl::Event transform(bool inverse, const Buffer& data) override;

 private:
  void bake();
  void check(clfftStatus status, const char* call) const {
    if (status != CLFFT_SUCCESS)
      throw_cl_error(status, call, fmt::format("{} transforms of length {}", batch_, length_),
                     device_.state()->info.name);
  }

  std::shared_ptr<Setup> setup_ = the_setup();
  Device device_;
  std::size_t length_, batch_;
  Setup::Key key_;
  clfftPlanHandle handle_ = 0;
  bool baked_ = false;
  Buffer scratch_;
};

void ClFftPlan::make() {
  handle_ = setup_->take(key_);
  baked_ = handle_ != 0;
  if (!baked_) bake();
  std::size_t bytes = 0;
  check(clfftGetTmpBufSize(handle_, &bytes), "clfftGetTmpBufSize");
  if (bytes > 0) scratch_ = device_.buffer("fft scratch", bytes);
}

void ClFftPlan::bake() {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  auto& state = *device_.state();
  check(clfftCreateDefaultPlan(&handle_, state.context(), CLFFT_1D, &length_), "clfftCreateDefaultPlan");
  check(clfftSetPlanPrecision(handle_, CLFFT_SINGLE), "clfftSetPlanPrecision");
  check(clfftSetLayout(handle_, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED), "clfftSetLayout");
  check(clfftSetResultLocation(handle_, CLFFT_INPLACE), "clfftSetResultLocation");
  check(clfftSetPlanBatchSize(handle_, batch_), "clfftSetPlanBatchSize");
  check(clfftSetPlanDistance(handle_, length_, length_), "clfftSetPlanDistance");
  auto queue = state.queue(Queue::compute)();
  check(clfftBakePlan(handle_, 1, &queue, nullptr, nullptr), "clfftBakePlan");
  baked_ = true;
}

cl::Event ClFftPlan::transform(bool inverse, const Buffer& data) {
  auto queue = device_.state()->queue(Queue::compute)();
  auto memory = static_cast<cl_mem>(data.handle());
  cl_event event = nullptr;
  check(clfftEnqueueTransform(handle_, inverse ? CLFFT_BACKWARD : CLFFT_FORWARD, 1, &queue, 0, nullptr, &event, &memory,
                              nullptr, static_cast<cl_mem>(scratch_.handle())),
        "clfftEnqueueTransform");
  return cl::Event(event);
}

}  // namespace

std::shared_ptr<void> clfft_setup() {
  return the_setup();
}

std::unique_ptr<FftPlan> clfft_plan(Device device, std::size_t length, std::size_t batch) {
  auto plan = std::make_unique<ClFftPlan>(std::move(device), length, batch);
  plan->make();
  return plan;
}

}  // namespace halocline
