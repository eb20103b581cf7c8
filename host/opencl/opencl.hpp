// OpenCL's C++ header, included by host/*.cpp alone.
#pragma once

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif
#include <CL/opencl.hpp>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/opencl/fft_library.hpp"
#include "host/opencl/program_cache.hpp"
#include "host/opencl/quirks.hpp"
#include "host/opencl/tuned_values.hpp"
#include "host/opencl/work_groups.hpp"

namespace halocline {

/// CL_SUCCESS, CL_OUT_OF_RESOURCES, ... by name.
const char* cl_error_name(int code);

/// Throws ClError with the code's name, `call`, `detail` and the device's name.
[[noreturn]] void throw_cl_error(int code, const std::string& call, const std::string& detail,
                                 const std::string& device);

struct CompiledKernel {
  cl::Kernel kernel;
  GroupLimits groups;
};

/// The handles of one open device.
struct DeviceState : std::enable_shared_from_this<DeviceState> {
  DeviceInfo info;
  Quirks quirks;
  cl::Device device;
  GroupLimits groups;
  cl::Context context;
  cl::CommandQueue queues[3];  // by Queue
  std::unique_ptr<MemoryLedger> ledger;
  ProgramCache cache;
  std::mutex launch_mutex;                        // of the next four: arguments belong to a kernel until it is launched
  std::map<std::string, cl::Program> programs;    // by file and options
  std::map<std::string, CompiledKernel> kernels;  // by file, options and kernel
  std::set<std::string> shaped_kernels;           // launched without a group of their own
  Tuning tuning;
  std::mutex fft_mutex;
  std::optional<FftLibrary> fft_library;  // once it is known
  std::mutex vkfft_mutex;
  std::shared_ptr<void> vkfft_applications;  // fft_vkfft.cpp
  std::shared_ptr<Trace> trace;
  std::atomic<bool> excluded{false};
  std::mutex running_mutex;
  std::deque<std::shared_ptr<EventState>> running[3];  // by Queue: commands that have not been seen to end well
  std::shared_ptr<EventState> seen_failed;             // the last one seen to fail, under the same mutex
  std::mutex pending_mutex;
  std::vector<std::shared_ptr<EventState>> pending;  // recorded when they have ended
  std::optional<std::uint64_t> clock_offset;         // from the device's clock to that of the trace, modulo 2^64
  // Idle page-locked memory: locking 16 MiB takes milliseconds.
  struct IdlePinned {
    std::size_t bytes;
    void* handle;
    std::byte* data;
  };
  std::mutex idle_pinned_mutex;
  std::vector<IdlePinned> idle_pinned;
  // Device memory of retired buffers. Freeing and allocating it again costs NVIDIA's driver 5 to 20 ms a GiB; a process
  // with one job after the other pays it once. A request for another size frees it, so it is never in the way.
  struct IdleBuffer {
    std::size_t bytes;
    void* handle;
  };
  bool stages_transfers = false;  // own memory, unless HALOCLINE_STAGE_TRANSFERS (for tests) is set
  bool keeps_buffers = false;     // own memory, and HALOCLINE_KEEP_MEMORY is not 0
  std::mutex idle_buffers_mutex;
  std::vector<IdleBuffer> idle_buffers;

  ~DeviceState();
  cl::CommandQueue& queue(Queue which) { return queues[static_cast<int>(which)]; }
};

struct EventState {
  cl::Event event;
  cl::Event begun;  // of several commands: at its end they begin; none: `event` is that of one command
  Queue queue = Queue::compute;
  std::string name, device;
  std::size_t bytes = 0;
  std::uint64_t enqueued_ns = 0;  // trace_clock() just after it was enqueued, where it is traced
  std::weak_ptr<DeviceState> owner;
};

/// A command of the compute queue, with the OpenCL call that enqueues it and a text for that call's errors.
struct KeptCommand {
  const char* call;
  std::string name, detail;
  std::function<void(cl::CommandQueue& queue, const std::vector<cl::Event>* waits, cl::Event* event)> enqueue;
};

/// Nanoseconds on the device's clock from which the command ran, after it has ended.
std::uint64_t started_at(const EventState& command);

/// Wraps an event that some call on `queue` made, and remembers it for the trace. Throws ClError if an earlier command
/// of the device has failed while it ran.
Event make_event(DeviceState& state, cl::Event event, Queue queue, std::string name, std::size_t bytes,
                 cl::Event begun = {});
/// The wait list for a command on `queue`: events of the same in-order queue need no entry.
std::vector<cl::Event> wait_list(std::span<const Event> waits, Queue queue);

}  // namespace halocline
