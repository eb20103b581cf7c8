// Buffers and image arrays, booked in the ledger, and pinned host memory: RAII.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "host/opencl/guard_zones.hpp"
#include "host/opencl/opencl.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// Books first, so that the budget is kept; takes the booking back if the driver refuses.
template <class Create>
cl_mem create_booked(DeviceState& state, const std::string& name, std::size_t bytes, const char* call,
                     Create&& create) {
  state.ledger->book(name, bytes);
  cl_int code = CL_SUCCESS;
  cl_mem handle = create(&code);
  if (code != CL_SUCCESS) {
    state.ledger->release(name, bytes);
    throw_cl_error(code, call, fmt::format("array {} of {} bytes", name, bytes), state.info.name);
  }
  return handle;
}

// Tests set HALOCLINE_POISON_MEMORY: new arrays then hold NaN, so that reads of unwritten memory show in the result.
void poison(DeviceState& state, cl_mem memory, std::size_t bytes) {
  static const bool wanted = std::getenv("HALOCLINE_POISON_MEMORY") != nullptr;
  if (!wanted || bytes == 0) return;
  const std::vector<unsigned char> pattern(bytes, 0xff);
  const cl_command_queue queue = state.queue(Queue::upload)();
  // Intel's runtime for CPUs returns from small blocking writes before they are made; their events are right.
  if (clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, bytes, pattern.data(), 0, nullptr, nullptr) == CL_SUCCESS)
    clFinish(queue);
}

cl_image_format format_of(const Texel& texel) {
  const cl_channel_order order = texel.channels == 1 ? CL_R : texel.channels == 2 ? CL_RG : CL_RGBA;
  return {order, static_cast<cl_channel_type>(texel.half ? CL_HALF_FLOAT : CL_FLOAT)};
}

constexpr std::size_t most_idle_pinned = 8, most_idle_buffers = 64;

// Called with the mutex held, or by the only owner of the state.
void give_idle_back(std::vector<DeviceState::IdleBuffer>& idle) {
  for (const auto& each : idle) clReleaseMemObject(static_cast<cl_mem>(each.handle));
  idle.clear();
}

// An idle one of this size; where there is none, all others are given back first.
cl_mem take_idle(DeviceState& state, std::size_t bytes) {
  const std::lock_guard lock(state.idle_buffers_mutex);
  auto& idle = state.idle_buffers;
  const auto found = std::find_if(idle.begin(), idle.end(), [&](const auto& each) { return each.bytes == bytes; });
  if (found != idle.end()) {
    const auto handle = static_cast<cl_mem>(found->handle);
    idle.erase(found);
    return handle;
  }
  give_idle_back(idle);
  return nullptr;
}

void release_pinned(DeviceState& state, const DeviceState::IdlePinned& pinned) {
  const auto queue = state.queue(Queue::upload)();
  clEnqueueUnmapMemObject(queue, static_cast<cl_mem>(pinned.handle), pinned.data, 0, nullptr, nullptr);
  clFinish(queue);
  clReleaseMemObject(static_cast<cl_mem>(pinned.handle));
}

// Frees idle buffers if they exceed the budget together with booked ones.
void make_room(DeviceState& state) {
  const std::lock_guard lock(state.idle_buffers_mutex);
  std::size_t bytes = state.ledger->in_use();
  for (const auto& each : state.idle_buffers) bytes += each.bytes;
  if (bytes > state.ledger->budget()) give_idle_back(state.idle_buffers);
}

void release_booked(DeviceState* state, const std::string& name, std::size_t bytes, void* handle, bool booked = true) {
  if (handle == nullptr) return;
  if (booked) check_guard_zones(*state, name, static_cast<cl_mem>(handle), bytes);
  clReleaseMemObject(static_cast<cl_mem>(handle));
  if (booked) state->ledger->release(name, bytes);
}

template <class Value>
Value fact_of(cl_mem memory, cl_mem_info which, const std::string& name, const DeviceState& state) {
  Value value{};
  const cl_int code = clGetMemObjectInfo(memory, which, sizeof value, &value, nullptr);
  if (code != CL_SUCCESS) throw_cl_error(code, "clGetMemObjectInfo", "array " + name, state.info.name);
  return value;
}

}  // namespace

Buffer::Buffer(std::shared_ptr<DeviceState> device, std::string name, std::size_t bytes)
    : device_(std::move(device)), name_(std::move(name)), bytes_(bytes) {
  constexpr cl_mem_flags unrestricted_size_intel = 1u << 23;  // CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL
  const cl_mem_flags flags =
      CL_MEM_READ_WRITE |
      (device_->quirks.large_allocations && bytes >= (std::size_t{4} << 30) ? unrestricted_size_intel : 0);
  const bool guarded = memory_is_checked();
  handle_ = create_booked(*device_, name_, bytes_, "clCreateBuffer", [&](cl_int* code) {
    if (guarded) return create_guarded(*device_, bytes_, code);
    if (const cl_mem idle = take_idle(*device_, bytes_)) return idle;
    return clCreateBuffer(device_->context(), flags, std::max<std::size_t>(bytes_, 4), nullptr, code);
  });
  if (!guarded) poison(*device_, static_cast<cl_mem>(handle_), bytes_);
}

Buffer Buffer::adopt(const Device& device, std::string name, void* memory) {
  const auto handle = static_cast<cl_mem>(memory);
  const auto& state = device.state();
  const bool buffer = fact_of<cl_mem_object_type>(handle, CL_MEM_TYPE, name, *state) == CL_MEM_OBJECT_BUFFER;
  if (!buffer || fact_of<cl_context>(handle, CL_MEM_CONTEXT, name, *state) != state->context())
    throw InputError(fmt::format("the memory of {} is no buffer of the context of {}", name, state->info.name));
  Buffer result;
  result.bytes_ = fact_of<std::size_t>(handle, CL_MEM_SIZE, name, *state);
  clRetainMemObject(handle);
  result.device_ = state;
  result.name_ = std::move(name);
  result.handle_ = handle;
  result.booked_ = false;
  return result;
}

Buffer Buffer::for_others(const Device& device, std::string name, std::size_t bytes) {
  Buffer result;
  result.device_ = device.state();
  result.name_ = std::move(name);
  result.bytes_ = bytes;
  result.booked_ = false;
  cl_int code = CL_SUCCESS;
  result.handle_ =
      clCreateBuffer(result.device_->context(), CL_MEM_READ_WRITE, std::max<std::size_t>(bytes, 4), nullptr, &code);
  if (code != CL_SUCCESS)
    throw_cl_error(code, "clCreateBuffer", fmt::format("array {} of {} bytes", result.name_, bytes),
                   result.device_->info.name);
  poison(*result.device_, static_cast<cl_mem>(result.handle_), bytes);
  return result;
}

Buffer::Buffer(Buffer&& other) noexcept
    : device_(std::move(other.device_)),
      name_(std::move(other.name_)),
      bytes_(other.bytes_),
      handle_(std::exchange(other.handle_, nullptr)),
      booked_(other.booked_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(name_, other.name_);
  std::swap(bytes_, other.bytes_);
  std::swap(handle_, other.handle_);
  std::swap(booked_, other.booked_);
  return *this;
}

void Buffer::retire() {
  if (handle_ == nullptr) return;
  if (device_->keeps_buffers && booked_ && !memory_is_checked()) {
    const std::lock_guard lock(device_->idle_buffers_mutex);
    if (device_->idle_buffers.size() < most_idle_buffers) {
      device_->idle_buffers.push_back({bytes_, handle_});
      device_->ledger->release(name_, bytes_);
      handle_ = nullptr;
      return;
    }
  }
  *this = Buffer();
}

Buffer::~Buffer() {
  release_booked(device_.get(), name_, bytes_, handle_, booked_);
}

ImageArray::ImageArray(std::shared_ptr<DeviceState> device, std::string name, const std::array<std::size_t, 3>& extent,
                       Texel texel)
    : device_(std::move(device)), name_(std::move(name)), extent_(extent), texel_(texel) {
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY;
  description.image_width = extent_[0];
  description.image_height = extent_[1];
  description.image_depth = 1;
  description.image_array_size = extent_[2];
  const cl_image_format format = format_of(texel_);
  handle_ = create_booked(*device_, name_, bytes(), "clCreateImage", [&](cl_int* code) {
    make_room(*device_);
    return clCreateImage(device_->context(), CL_MEM_READ_WRITE, &format, &description, nullptr, code);
  });
}

ImageArray::ImageArray(ImageArray&& other) noexcept
    : device_(std::move(other.device_)),
      name_(std::move(other.name_)),
      extent_(other.extent_),
      texel_(other.texel_),
      handle_(std::exchange(other.handle_, nullptr)) {}

ImageArray& ImageArray::operator=(ImageArray&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(name_, other.name_);
  std::swap(extent_, other.extent_);
  std::swap(texel_, other.texel_);
  std::swap(handle_, other.handle_);
  return *this;
}

ImageArray::~ImageArray() {
  release_booked(device_.get(), name_, bytes(), handle_);
}

PinnedMemory::PinnedMemory(std::shared_ptr<DeviceState> device, std::size_t bytes)
    : device_(std::move(device)), bytes_(bytes) {
  {
    std::lock_guard lock(device_->idle_pinned_mutex);
    auto& idle = device_->idle_pinned;
    idle.reserve(most_idle_pinned);  // the destructor must not throw
    const auto found = std::find_if(idle.begin(), idle.end(), [&](const auto& each) { return each.bytes == bytes_; });
    if (found != idle.end()) {
      handle_ = found->handle;
      data_ = found->data;
      idle.erase(found);
      return;
    }
  }
  cl_int code = CL_SUCCESS;
  cl_mem memory = clCreateBuffer(device_->context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes_, nullptr, &code);
  if (code != CL_SUCCESS)
    throw_cl_error(code, "clCreateBuffer", fmt::format("{} bytes of pinned memory", bytes_), device_->info.name);
  void* mapped = clEnqueueMapBuffer(device_->queue(Queue::upload)(), memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                    bytes_, 0, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) {
    clReleaseMemObject(memory);
    throw_cl_error(code, "clEnqueueMapBuffer", fmt::format("{} bytes of pinned memory", bytes_), device_->info.name);
  }
  handle_ = memory;
  data_ = static_cast<std::byte*>(mapped);
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : device_(std::move(other.device_)),
      bytes_(other.bytes_),
      handle_(std::exchange(other.handle_, nullptr)),
      data_(other.data_) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(bytes_, other.bytes_);
  std::swap(handle_, other.handle_);
  std::swap(data_, other.data_);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (handle_ == nullptr) return;
  const DeviceState::IdlePinned pinned{bytes_, handle_, data_};
  {
    std::lock_guard lock(device_->idle_pinned_mutex);
    if (device_->idle_pinned.size() < most_idle_pinned) {
      device_->idle_pinned.push_back(pinned);
      return;
    }
  }
  release_pinned(*device_, pinned);
}

DeviceState::~DeviceState() {
  for (const auto& pinned : idle_pinned) release_pinned(*this, pinned);
  give_idle_back(idle_buffers);
}

}  // namespace halocline
