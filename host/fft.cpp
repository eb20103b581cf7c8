#include "host/fft.hpp"

#include <clFFT.h>
#include <fmt/format.h>

#include <bit>

#include "host/captured_stderr.hpp"
#include "host/error.hpp"
#include "host/opencl.hpp"

namespace halocline {
namespace {

void check(clfftStatus status, const char* call, const DeviceState& state, std::size_t length, std::size_t batch) {
  if (status != CLFFT_SUCCESS)
    throw_cl_error(status, call, fmt::format("{} transforms of length {}", batch, length), state.info.name);
}

// clFFT has one global set-up a process; its own locks make plans of several threads safe once it stands. It stands as
// long as there are plans or FftKernels: torn down at the end of the process, when drivers may be gone already, it has
// crashed.
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

FftKernels::FftKernels() : setup_(shared_setup()) {}

std::size_t fft_length(std::size_t n) {
  return std::bit_ceil(std::max<std::size_t>(n, 1));
}

struct Fft::Plan {
  std::shared_ptr<Setup> setup = shared_setup();
  Device device;
  std::size_t length, batch;
  clfftPlanHandle handle = 0;
  bool made = false;
  Buffer scratch;

  Plan(Device d, std::size_t l, std::size_t b) : device(std::move(d)), length(l), batch(b) {}
  ~Plan() {
    if (made) clfftDestroyPlan(&handle);
  }
};

Fft::Fft(Device device, std::size_t length, std::size_t batch)
    : plan_(std::make_unique<Plan>(std::move(device), length, batch)) {
  const CapturedStderr captured("OpenCL compiler");
  auto& state = *plan_->device.state();
  const auto ok = [&](clfftStatus status, const char* call) { check(status, call, state, length, batch); };
  ok(clfftCreateDefaultPlan(&plan_->handle, state.context(), CLFFT_1D, &length), "clfftCreateDefaultPlan");
  plan_->made = true;
  ok(clfftSetPlanPrecision(plan_->handle, CLFFT_SINGLE), "clfftSetPlanPrecision");
  ok(clfftSetLayout(plan_->handle, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED), "clfftSetLayout");
  ok(clfftSetResultLocation(plan_->handle, CLFFT_INPLACE), "clfftSetResultLocation");
  ok(clfftSetPlanBatchSize(plan_->handle, batch), "clfftSetPlanBatchSize");
  ok(clfftSetPlanDistance(plan_->handle, length, length), "clfftSetPlanDistance");
  auto queue = state.queue(Queue::compute)();
  ok(clfftBakePlan(plan_->handle, 1, &queue, nullptr, nullptr), "clfftBakePlan");
  std::size_t bytes = 0;
  ok(clfftGetTmpBufSize(plan_->handle, &bytes), "clfftGetTmpBufSize");
  if (bytes > 0) plan_->scratch = plan_->device.buffer("fft scratch", bytes);
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
  return transform(plan_->device, plan_->handle, CLFFT_FORWARD, data, plan_->scratch, plan_->length, plan_->batch,
                   waits);
}

Event Fft::inverse(const Buffer& data, std::span<const Event> waits) {
  return transform(plan_->device, plan_->handle, CLFFT_BACKWARD, data, plan_->scratch, plan_->length, plan_->batch,
                   waits);
}

}  // namespace halocline
