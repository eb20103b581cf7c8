// One OpenCL device: a context, three in-order queues (upload, compute, download) with profiling, its memory and
// kernels. OpenCL itself is used in host/ alone: the handles here are opaque. Several host threads may use a Device at
// a time: their work shares its queues and the budget of its memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "host/opencl/command_list.hpp"
#include "host/opencl/device_info.hpp"
#include "host/opencl/memory_ledger.hpp"
#include "host/opencl/trace.hpp"
#include "host/opencl/tuning.hpp"

namespace halocline {

class Device;
struct DeviceState;  // the OpenCL handles, host/opencl/device.cpp
struct EventState;

enum class Queue { upload, compute, download };

/// The end of a command. An empty event has ended.
class Event {
 public:
  Event() = default;
  explicit Event(std::shared_ptr<EventState> state) : state_(std::move(state)) {}
  explicit operator bool() const { return state_ != nullptr; }
  /// Blocks until the command has ended; throws ClError if it failed.
  void wait() const;
  /// True if it has ended, or failed: wait() then returns, or throws, at once.
  bool ended() const;
  /// Seconds that the command ran on the device, after it has ended. Throws ClError if it failed.
  double seconds() const;
  const EventState* state() const { return state_.get(); }

 private:
  std::shared_ptr<EventState> state_;
};

/// Device memory, booked in the device's ledger under `name` until it is destroyed.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<DeviceState> device, std::string name, std::size_t bytes);
  /// Memory of somebody else's (a cl_mem), which it keeps alive and does not book. Throws InputError where that is no
  /// buffer of the device's context.
  static Buffer adopt(const Device& device, std::string name, void* memory);
  /// New memory that is not booked, for somebody else to adopt by its handle().
  static Buffer for_others(const Device& device, std::string name, std::size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  const std::string& name() const { return name_; }
  std::size_t bytes() const { return bytes_; }
  void* handle() const { return handle_; }
  /// Frees the buffer, which no command in flight uses, so that its memory can serve the next Buffer of as many bytes.
  void retire();

 private:
  std::shared_ptr<DeviceState> device_;
  std::string name_;
  std::size_t bytes_ = 0;
  void* handle_ = nullptr;
  bool booked_ = true;
};

/// Texel of an image: 1, 2 or 4 channels of float32 or half precision.
struct Texel {
  int channels = 1;
  bool half = false;
  std::size_t bytes() const { return static_cast<std::size_t>(channels) * (half ? 2 : 4); }
};

/// An array of images, one a layer, read by kernels through a sampler. Booked like a Buffer.
class ImageArray {
 public:
  ImageArray() = default;
  /// extent: width, height, layers.
  ImageArray(std::shared_ptr<DeviceState> device, std::string name, const std::array<std::size_t, 3>& extent,
             Texel texel);
  ImageArray(ImageArray&& other) noexcept;
  ImageArray& operator=(ImageArray&& other) noexcept;
  ~ImageArray();
  const std::string& name() const { return name_; }
  const std::array<std::size_t, 3>& extent() const { return extent_; }
  const Texel& texel() const { return texel_; }
  void* handle() const { return handle_; }

 private:
  std::size_t bytes() const { return texel_.bytes() * extent_[0] * extent_[1] * extent_[2]; }
  std::shared_ptr<DeviceState> device_;
  std::string name_;
  std::array<std::size_t, 3> extent_{};
  Texel texel_;
  void* handle_ = nullptr;
};

/// Page-locked host memory of a device (CL_MEM_ALLOC_HOST_PTR, mapped): transfers from it run at the speed of the bus.
/// The device keeps a few that were given back, for the next of the same size.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(std::shared_ptr<DeviceState> device, std::size_t bytes);
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<DeviceState> device_;
  std::size_t bytes_ = 0;
  void* handle_ = nullptr;
  std::byte* data_ = nullptr;
};

/// A kernel: a file of cl/, the function in it, and the macros it is compiled with ("-D NAME=1 ...").
struct KernelSpec {
  std::string file, kernel, options;
};

/// Local memory of so many bytes, as a kernel argument.
struct LocalBytes {
  std::size_t bytes;
};
/// A struct that a kernel takes by value, as a kernel argument.
struct StructArgument {
  std::vector<std::byte> bytes;
};
/// `value` for a kernel whose parameter is the same struct: int, uint and float members alone, so that every device
/// lays it out as the host does.
template <class Struct>
StructArgument argument_struct(const Struct& value) {
  static_assert(std::is_class_v<Struct> && std::is_trivially_copyable_v<Struct> && std::is_standard_layout_v<Struct>);
  static_assert(alignof(Struct) == 4, "members of 4 bytes");
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  return {{bytes, bytes + sizeof value}};
}
using KernelArgument =
    std::variant<const Buffer*, const ImageArray*, LocalBytes, StructArgument, std::int32_t, std::uint32_t,
                 std::int64_t, std::uint64_t, float, double, std::array<float, 2>, std::array<float, 4>>;

/// `bytes` of one buffer into another one.
struct BufferCopy {
  const Buffer* from;
  std::size_t from_offset;
  const Buffer* to;
  std::size_t to_offset, bytes;
};

class Device {
 public:
  explicit Device(std::shared_ptr<DeviceState> state) : state_(std::move(state)) {}

  const DeviceInfo& info() const;
  MemoryLedger& ledger() const;
  /// Largest single buffer in bytes, quirks considered.
  std::size_t max_allocation() const;
  const std::shared_ptr<DeviceState>& state() const { return state_; }

  /// Throws PlanError when the budget is passed, ClError when the driver has no memory (see is_out_of_memory).
  Buffer buffer(std::string name, std::size_t bytes) { return Buffer(state_, std::move(name), bytes); }
  ImageArray image_array(std::string name, const std::array<std::size_t, 3>& extent, Texel texel = {}) {
    return ImageArray(state_, std::move(name), extent, texel);
  }
  PinnedMemory pinned(std::size_t bytes) { return PinnedMemory(state_, bytes); }

  /// Copies asynchronously; host memory must remain valid until the event has ended. `waits` are events of this device.
  Event write(const Buffer& to, std::size_t offset, const void* from, std::size_t bytes,
              std::span<const Event> waits = {});
  Event read(const Buffer& from, std::size_t offset, void* to, std::size_t bytes, std::span<const Event> waits = {});
  Event copy(const Buffer& from, std::size_t from_offset, const Buffer& to, std::size_t to_offset, std::size_t bytes,
             std::span<const Event> waits = {});
  /// Several such copies, which must not overlap, in as few commands as can be: each takes 10 to 20 microseconds.
  Event copy(std::span<const BufferCopy> copies, std::span<const Event> waits = {});
  /// Copies `rows` rows from `row_begin` on of layers 0 .. layers - 1 of an image array, which are contiguous in the
  /// buffer, on the compute queue.
  Event copy(const Buffer& from, const ImageArray& to, std::size_t row_begin, std::size_t rows, std::size_t layers,
             std::span<const Event> waits = {});
  Event fill(const Buffer& buffer, float value, std::size_t offset, std::size_t bytes,
             std::span<const Event> waits = {});

  /// Runs a kernel over at least `global` work-items (rounded up to the group: kernels guard their ranges). The group's
  /// shape is that of work_group_shape() unless given.
  Event launch(const KernelSpec& spec, std::array<std::size_t, 3> global, std::span<const KernelArgument> arguments,
               std::span<const Event> waits = {}, std::optional<std::array<std::size_t, 3>> group = {});
  /// Launches through this handle are part of such a problem: of tuned values, those for its class precede.
  void set_problem(std::optional<ProblemClass> problem) { problem_ = problem; }
  const std::optional<ProblemClass>& problem() const { return problem_; }
  /// Adds the launches, fills and copies that are enqueued through this handle from now on to the list, too (nullptr:
  /// no longer).
  void keep(CommandList* list) { kept_ = list; }
  /// Enqueues the commands of a list that this device kept, the first of them after `waits`; the end of the last. Their
  /// buffers still exist.
  Event replay(const CommandList& list, std::span<const Event> waits = {});
  /// Compiles (or loads from the cache) without running: errors show before the work begins.
  void prepare(const KernelSpec& spec);

  /// Waits for all three queues (at the end of a job and before host memory is freed). Throws ClError if any command
  /// failed.
  void finish();
  /// Throws ClError if a command that has ended failed.
  void check();
  /// The device has failed: runs on several devices do without it from now on.
  void exclude();
  bool excluded() const;
  /// Records commands there from now on (nullptr: no longer).
  void record(std::shared_ptr<Trace> trace);

 private:
  template <class Command>
  Event compute(const char* call, const std::string& name, const std::function<std::string()>& detail,
                std::span<const Event> waits, Command command);

  std::shared_ptr<DeviceState> state_;
  CommandList* kept_ = nullptr;
  std::optional<ProblemClass> problem_;
};

/// Opens the devices that `selection` names. Throws InputError (see select_devices).
std::vector<Device> open_devices(const DeviceSelection& selection);

/// A device (a cl_device_id) in a context of somebody else's (a cl_context), which it keeps alive: buffers of that
/// context are buffers of this device's. memory: see DeviceSelection::device_memory. Throws InputError for a device
/// that is none of the context's or that jobs cannot run on, ClError.
Device adopt_device(void* context, void* device, std::size_t memory = 0);
/// True if `selection` denotes that device of the computer alone, or none by name. Throws InputError (see
/// select_devices).
bool means(const DeviceSelection& selection, const Device& device);

class ClError;
/// The device, not the program, ran out of memory: a smaller plan may work.
bool is_out_of_memory(const ClError& error);

}  // namespace halocline
