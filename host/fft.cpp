#include "host/fft.hpp"

#include <clFFT.h>
#include <fmt/format.h>

#include <bit>

#include "host/error.hpp"
#include "host/opencl.hpp"

namespace halocline {
namespace {

void check(clfftStatus status, const char* call, const DeviceState& state, std::size_t length, std::size_t batch) {
  if (status != CLFFT_SUCCESS)
    throw_cl_error(status, call, fmt::format("{} transforms of length {}", batch, length), state.info.name);
}

// clFFT has one global set-up a process; its own locks make plans of several threads safe once it stands. It stands as
// long as there are plans, and these as long as their devices: torn down at the end of the process, when drivers may be
// gone already, it has crashed.
struct Setup {
  Setup() {
    clfftSetupData data;
    clfftInitSetupData(&data);
    const clfftStatus status = clfftSetup(&data);
    if (status != CLFFT_SUCCESS)
      throw ClError(fmt::format("clfftSetup failed ({})", static_cast<int>(status)), status, "");
  }
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;
  ~Setup() { clfftTeardown(); }
};

std::shared_ptr<Setup> shared_setup() {
  static std::mutex mutex;
  static std::weak_ptr<Setup> current;
  const std::lock_guard lock(mutex);
  auto setup = current.lock();
  if (!setup) current = setup = std::make_shared<Setup>();
  return setup;
}

}  // namespace

std::size_t fft_length(std::size_t n) {
  return std::bit_ceil(std::max<std::size_t>(n, 1));
}

namespace {

// What clFFT has compiled.
struct Baked {
  std::shared_ptr<Setup> setup = shared_setup();
  clfftPlanHandle handle = 0;
  bool made = false;
  std::size_t scratch_bytes = 0;

  Baked() = default;
  Baked(const Baked&) = delete;
  Baked& operator=(const Baked&) = delete;
  ~Baked() {
    if (made) clfftDestroyPlan(&handle);
  }
};

std::shared_ptr<Baked> baked(DeviceState& state, std::size_t length, std::size_t batch) {
  auto& kept = state.fft_plans[{length, batch}];
  if (kept) return std::static_pointer_cast<Baked>(kept);
  auto plan = std::make_shared<Baked>();
  const auto ok = [&](clfftStatus status, const char* call) { check(status, call, state, length, batch); };
  ok(clfftCreateDefaultPlan(&plan->handle, state.context(), CLFFT_1D, &length), "clfftCreateDefaultPlan");
  plan->made = true;
  ok(clfftSetPlanPrecision(plan->handle, CLFFT_SINGLE), "clfftSetPlanPrecision");
  ok(clfftSetLayout(plan->handle, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED), "clfftSetLayout");
  ok(clfftSetResultLocation(plan->handle, CLFFT_INPLACE), "clfftSetResultLocation");
  ok(clfftSetPlanBatchSize(plan->handle, batch), "clfftSetPlanBatchSize");
  ok(clfftSetPlanDistance(plan->handle, length, length), "clfftSetPlanDistance");
  auto queue = state.queue(Queue::compute)();
  ok(clfftBakePlan(plan->handle, 1, &queue, nullptr, nullptr), "clfftBakePlan");
  ok(clfftGetTmpBufSize(plan->handle, &plan->scratch_bytes), "clfftGetTmpBufSize");
  kept = plan;
  return plan;
}

}  // namespace

struct Fft::Plan {
  Device device;
  std::size_t length, batch;
  std::shared_ptr<Baked> baked;
  Buffer scratch;
};

Fft::Fft(Device device, std::size_t length, std::size_t batch)
    : plan_(new Plan{device, length, batch, baked(*device.state(), length, batch), {}}) {
  if (plan_->baked->scratch_bytes > 0)
    plan_->scratch = plan_->device.buffer("fft scratch", plan_->baked->scratch_bytes);
}

Fft::~Fft() = default;
Fft::Fft(Fft&&) noexcept = default;
Fft& Fft::operator=(Fft&&) noexcept = default;
std::size_t Fft::length() const {
  return plan_->length;
}
std::size_t Fft::batch() const {
  return plan_->batch;
}

namespace {

Event transform(Device& device, clfftPlanHandle handle, clfftDirection direction, const Buffer& data,
                const Buffer& scratch, std::size_t length, std::size_t batch, std::span<const Event> waits) {
  auto& state = *device.state();
  if (data.bytes() < 8 * length * batch) throw std::logic_error(fmt::format("fft: array {} is too small", data.name()));
  std::vector<cl_event> list;
  for (const auto& event : wait_list(waits, Queue::compute)) list.push_back(event());
  auto queue = state.queue(Queue::compute)();
  auto memory = static_cast<cl_mem>(data.handle());
  cl_event event = nullptr;
  check(clfftEnqueueTransform(handle, direction, 1, &queue, static_cast<cl_uint>(list.size()),
                              list.empty() ? nullptr : list.data(), &event, &memory, nullptr,
                              static_cast<cl_mem>(scratch.handle())),
        "clfftEnqueueTransform", state, length, batch);
  return make_event(state, cl::Event(event), Queue::compute, direction == CLFFT_FORWARD ? "fft forward" : "fft inverse",
                    0);
}

}  // namespace

Event Fft::forward(const Buffer& data, std::span<const Event> waits) {
  return transform(plan_->device, plan_->baked->handle, CLFFT_FORWARD, data, plan_->scratch, plan_->length,
                   plan_->batch, waits);
}

Event Fft::inverse(const Buffer& data, std::span<const Event> waits) {
  return transform(plan_->device, plan_->baked->handle, CLFFT_BACKWARD, data, plan_->scratch, plan_->length,
                   plan_->batch, waits);
}

}  // namespace halocline
