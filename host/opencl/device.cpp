// Commands of one device.
#include "host/opencl/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "host/opencl/opencl.hpp"
#include "host/opencl/program.hpp"
#include "host/opencl/work_groups.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr const char* queue_names[] = {"upload", "compute", "download"};
// Finished commands are moved to the trace when so many have gathered: the driver keeps every event alive until then.
constexpr std::size_t trace_batch = 4096;

// Waits before an error is thrown: commands in flight may use host memory that is about to be freed.
void settle(DeviceState& state) {
  for (auto& queue : state.queues) clFinish(queue());
}

// Runs one OpenCL call; an error carries the call, the detail and the device.
template <class Call>
Event enqueue(DeviceState& state, Queue queue, const char* call, const std::string& name, std::size_t bytes,
              const std::function<std::string()>& detail, Call&& command) {
  cl::Event event;
  try {
    command(state.queue(queue), event);
    // Queues of other kinds wait for this command through events, so it must reach the device.
    state.queue(queue).flush();
  } catch (const cl::Error& error) {
    settle(state);
    throw_cl_error(error.err(), call, detail(), state.info.name);
  }
  return make_event(state, event, queue, name, bytes);
}

// The host's clock less that of the device. As a command is enqueued before the host's time is taken, the least
// difference of several commands is the closest.
std::uint64_t clock_offset(DeviceState& state, const std::vector<std::shared_ptr<EventState>>& ended) {
  std::lock_guard lock(state.pending_mutex);
  if (state.clock_offset) return *state.clock_offset;
  std::optional<std::int64_t> least;
  for (const auto& each : ended) {
    cl_ulong time = 0;
    // A driver may not know when a command was enqueued; it began soon after.
    for (const cl_profiling_info moment : {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_START}) {
      const auto code = clGetEventProfilingInfo(each->event(), moment, sizeof time, &time, nullptr);
      if (code != CL_SUCCESS) time = 0;
      if (time != 0) break;
    }
    if (time == 0) continue;
    const auto difference = static_cast<std::int64_t>(each->enqueued_ns - time);
    least = std::min(least.value_or(difference), difference);
  }
  if (least) state.clock_offset = static_cast<std::uint64_t>(*least);
  return state.clock_offset.value_or(0);
}

void record_ended(DeviceState& state, bool all) {
  std::vector<std::shared_ptr<EventState>> ended;
  {
    std::lock_guard lock(state.pending_mutex);
    if (!state.trace || (!all && state.pending.size() < trace_batch)) return;
    ended.swap(state.pending);
  }
  for (const auto& each : ended) clWaitForEvents(1, &each->event());
  const std::uint64_t offset = clock_offset(state, ended);
  for (const auto& each : ended) {
    try {
      state.trace->add({each->name, each->device, queue_names[static_cast<int>(each->queue)],
                        offset + started_at(*each), offset + each->event.getProfilingInfo<CL_PROFILING_COMMAND_END>(),
                        each->bytes});
    } catch (const cl::Error&) {  // a failed command has no times; its error is raised where it is waited for
    }
  }
}

int status_of(const EventState& command) {
  cl_int status = CL_COMPLETE;
  const cl_int code =
      clGetEventInfo(command.event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  if (code != CL_SUCCESS) throw_cl_error(code, "clGetEventInfo", command.name, command.device);
  return status;
}

constexpr int failed_before = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;

[[noreturn]] void throw_failed(const EventState& command, int status) {
  throw_cl_error(status, command.name, "the command failed while it ran", command.device);
}

// Throws for the command that caused the failure of one that waited for it, which says what happened and whether less
// memory helps. Called with running_mutex held.
void throw_cause(const DeviceState& state) {
  for (const auto& commands : state.running)
    for (const auto& command : commands)
      if (const int status = status_of(*command); status < 0 && status != failed_before) throw_failed(*command, status);
  if (state.seen_failed) throw_failed(*state.seen_failed, status_of(*state.seen_failed));
}

// Checks every command, because one that fails does not stop those after it in its queue, and drivers need not report
// it to whoever waits. Queues keep their order: ended commands are in front.
void check_running(DeviceState& state) {
  std::lock_guard lock(state.running_mutex);
  for (auto& commands : state.running)
    while (!commands.empty()) {
      const auto first = commands.front();
      const int status = status_of(*first);
      if (status > CL_COMPLETE) break;
      commands.pop_front();
      if (status == CL_COMPLETE) continue;
      settle(state);
      if (status == failed_before) throw_cause(state);
      state.seen_failed = first;
      throw_failed(*first, status);
    }
}

void forget_running(DeviceState& state) {
  std::lock_guard lock(state.running_mutex);
  for (auto& commands : state.running) commands.clear();
  state.seen_failed.reset();
}

cl_mem memory(const Buffer& buffer) {
  return static_cast<cl_mem>(buffer.handle());
}

void check_bounds(const DeviceState& state, const Buffer& buffer, std::size_t offset, std::size_t bytes,
                  const char* call) {
  if (offset > buffer.bytes() || bytes > buffer.bytes() - offset)
    throw std::logic_error(fmt::format("{}: {} bytes at {} of array {} with {} bytes on {}", call, bytes, offset,
                                       buffer.name(), buffer.bytes(), state.info.name));
}

}  // namespace

std::uint64_t started_at(const EventState& command) {
  return command.begun() == nullptr ? command.event.getProfilingInfo<CL_PROFILING_COMMAND_START>()
                                    : command.begun.getProfilingInfo<CL_PROFILING_COMMAND_END>();
}

Event make_event(DeviceState& state, cl::Event event, Queue queue, std::string name, std::size_t bytes,
                 cl::Event begun) {
  auto result = std::make_shared<EventState>();
  result->event = std::move(event);
  result->begun = std::move(begun);
  result->queue = queue;
  result->name = std::move(name);
  result->device = state.info.name;
  result->bytes = bytes;
  result->owner = state.weak_from_this();
  check_running(state);
  {
    std::lock_guard lock(state.running_mutex);
    state.running[static_cast<int>(queue)].push_back(result);
  }
  if (state.trace) {
    result->enqueued_ns = trace_clock();
    {
      std::lock_guard lock(state.pending_mutex);
      state.pending.push_back(result);
    }
    record_ended(state, false);
  }
  return Event(std::move(result));
}

std::vector<cl::Event> wait_list(std::span<const Event> waits, Queue queue) {
  std::vector<cl::Event> result;
  for (const auto& wait : waits)
    if (wait && wait.state()->queue != queue) result.push_back(wait.state()->event);
  return result;
}

// The command's error says more than the call's, unless the device is lost.
[[noreturn]] void throw_what_failed(const EventState& command, const cl::Error& error) {
  cl_int status = CL_COMPLETE;
  clGetEventInfo(command.event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  if (const auto owner = command.owner.lock(); owner && status == failed_before) {
    const std::lock_guard lock(owner->running_mutex);
    throw_cause(*owner);
  }
  throw_failed(command, status < 0 ? status : error.err());
}

void Event::wait() const {
  if (!state_) return;
  try {
    state_->event.wait();
  } catch (const cl::Error& error) {
    throw_what_failed(*state_, error);
  }
}

bool Event::ended() const {
  if (!state_) return true;
  try {
    return state_->event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() <= CL_COMPLETE;
  } catch (const cl::Error& error) {
    throw_what_failed(*state_, error);
  }
}

double Event::seconds() const {
  if (!state_) return 0;
  try {
    return 1e-9 * static_cast<double>(state_->event.getProfilingInfo<CL_PROFILING_COMMAND_END>() - started_at(*state_));
  } catch (const cl::Error& error) {
    throw_what_failed(*state_, error);
  }
}

const DeviceInfo& Device::info() const {
  return state_->info;
}
MemoryLedger& Device::ledger() const {
  return *state_->ledger;
}

std::size_t Device::max_allocation() const {
  return state_->quirks.allocations_beyond_max ? state_->info.global_memory : state_->info.max_allocation;
}

Event Device::write(const Buffer& to, std::size_t offset, const void* from, std::size_t bytes,
                    std::span<const Event> waits) {
  check_bounds(*state_, to, offset, bytes, "write");
  const auto list = wait_list(waits, Queue::upload);
  return enqueue(
      *state_, Queue::upload, "clEnqueueWriteBuffer", "write " + to.name(), bytes,
      [&] { return fmt::format("array {}, {} bytes at {}", to.name(), bytes, offset); },
      [&](cl::CommandQueue& queue, cl::Event& event) {
        cl::Buffer buffer(memory(to), true);
        queue.enqueueWriteBuffer(buffer, CL_FALSE, offset, bytes, from, &list, &event);
      });
}

Event Device::read(const Buffer& from, std::size_t offset, void* to, std::size_t bytes, std::span<const Event> waits) {
  check_bounds(*state_, from, offset, bytes, "read");
  const auto list = wait_list(waits, Queue::download);
  return enqueue(
      *state_, Queue::download, "clEnqueueReadBuffer", "read " + from.name(), bytes,
      [&] { return fmt::format("array {}, {} bytes at {}", from.name(), bytes, offset); },
      [&](cl::CommandQueue& queue, cl::Event& event) {
        cl::Buffer buffer(memory(from), true);
        queue.enqueueReadBuffer(buffer, CL_FALSE, offset, bytes, to, &list, &event);
      });
}

// Enqueues a command on the compute queue. `command` may be called again, long after.
template <class Command>
Event Device::compute(const char* call, const std::string& name, const std::function<std::string()>& detail,
                      std::span<const Event> waits, Command command) {
  const auto list = wait_list(waits, Queue::compute);
  const Event result = enqueue(*state_, Queue::compute, call, name, 0, detail,
                               [&](cl::CommandQueue& queue, cl::Event& event) { command(queue, &list, &event); });
  if (kept_ != nullptr)
    kept_->commands_.push_back(
        std::make_shared<const KeptCommand>(KeptCommand{call, name, detail(), std::move(command)}));
  return result;
}

Event Device::replay(const CommandList& list, std::span<const Event> waits) {
  Event last;
  auto& queue = state_->queue(Queue::compute);
  const auto first = wait_list(waits, Queue::compute);  // the others follow it in their queue
  for (const auto& command : list.commands_) {
    cl::Event event;
    try {
      command->enqueue(queue, last ? nullptr : &first, &event);
      if (command == list.commands_.back()) queue.flush();
    } catch (const cl::Error& error) {
      settle(*state_);
      throw_cl_error(error.err(), command->call, command->detail, state_->info.name);
    }
    last = make_event(*state_, std::move(event), Queue::compute, command->name, 0);
  }
  return last;
}

Event Device::copy(const Buffer& from, std::size_t from_offset, const Buffer& to, std::size_t to_offset,
                   std::size_t bytes, std::span<const Event> waits) {
  check_bounds(*state_, from, from_offset, bytes, "copy from");
  check_bounds(*state_, to, to_offset, bytes, "copy to");
  return compute(
      "clEnqueueCopyBuffer", "copy " + from.name(),
      [&] { return fmt::format("{} bytes of {} to {}", bytes, from.name(), to.name()); }, waits,
      [source = memory(from), target = memory(to), from_offset, to_offset, bytes](
          cl::CommandQueue& queue, const std::vector<cl::Event>* after, cl::Event* event) {
        queue.enqueueCopyBuffer(cl::Buffer(source, true), cl::Buffer(target, true), from_offset, to_offset, bytes,
                                after, event);
      });
}

namespace {

constexpr std::size_t copies_of_kernel = 4, word_bytes = 16;  // of copy_several

// True where the kernel can fill: whole words only.
bool is_of_words(const BufferCopy& copy) {
  return copy.from_offset % word_bytes == 0 && copy.to_offset % word_bytes == 0 && copy.bytes % word_bytes == 0;
}

}  // namespace

Event Device::copy(std::span<const BufferCopy> copies, std::span<const Event> waits) {
  Event last;
  if (copies.size() == 1 || !std::all_of(copies.begin(), copies.end(), is_of_words)) {
    for (const auto& each : copies)
      if (each.bytes > 0) last = copy(*each.from, each.from_offset, *each.to, each.to_offset, each.bytes, waits);
    return last;
  }
  for (std::size_t first = 0; first < copies.size(); first += copies_of_kernel) {
    std::vector<KernelArgument> arguments;
    std::size_t most = 0;
    for (std::size_t n = first; n < first + copies_of_kernel; ++n) {
      BufferCopy each = copies[std::min(n, copies.size() - 1)];
      if (n >= copies.size()) each.bytes = 0;
      check_bounds(*state_, *each.from, each.from_offset, each.bytes, "copy from");
      check_bounds(*state_, *each.to, each.to_offset, each.bytes, "copy to");
      most = std::max(most, each.bytes / word_bytes);
      arguments.insert(arguments.end(),
                       {each.from, each.to, std::uint64_t{each.from_offset / word_bytes},
                        std::uint64_t{each.to_offset / word_bytes}, std::uint64_t{each.bytes / word_bytes}});
    }
    if (most == 0) continue;  // its event would be none
    last = launch({"copy.cl", "copy_several", ""}, {most, copies_of_kernel, 1}, arguments, waits);
  }
  return last;
}

Event Device::copy(const Buffer& from, const ImageArray& to, std::size_t row_begin, std::size_t rows,
                   std::size_t layers, std::span<const Event> waits) {
  const std::size_t width = to.extent()[0];
  check_bounds(*state_, from, 0, to.texel().bytes() * width * rows * layers, "copy to image");
  return compute(
      "clEnqueueCopyBufferToImage", "copy " + from.name() + " to image",
      [&] {
        return fmt::format("rows {} + {} of {} layers of {} to {}", row_begin, rows, layers, from.name(), to.name());
      },
      waits,
      [source = memory(from), target = static_cast<cl_mem>(to.handle()), width, row_begin, rows, layers](
          cl::CommandQueue& queue, const std::vector<cl::Event>* after, cl::Event* event) {
        queue.enqueueCopyBufferToImage(cl::Buffer(source, true), cl::Image2DArray(target, true), 0, {0, row_begin, 0},
                                       {width, rows, layers}, after, event);
      });
}

Event Device::fill(const Buffer& buffer, float value, std::size_t offset, std::size_t bytes,
                   std::span<const Event> waits) {
  check_bounds(*state_, buffer, offset, bytes, "fill");
  if (state_->quirks.fill_with_kernel) {
    const auto first = static_cast<std::uint64_t>(offset / 4), count = static_cast<std::uint64_t>(bytes / 4);
    const KernelArgument arguments[] = {&buffer, first, count, value};
    return launch({"fill.cl", "fill_value", ""}, {static_cast<std::size_t>(count), 1, 1}, arguments, waits);
  }
  return compute(
      "clEnqueueFillBuffer", "fill " + buffer.name(),
      [&] { return fmt::format("array {}, {} bytes at {}", buffer.name(), bytes, offset); }, waits,
      [target = memory(buffer), value, offset, bytes](cl::CommandQueue& queue, const std::vector<cl::Event>* after,
                                                      cl::Event* event) {
        queue.enqueueFillBuffer(cl::Buffer(target, true), value, offset, bytes, after, event);
      });
}

namespace {

// The same kernel with arguments of its own.
cl::Kernel twin_of(const cl::Kernel& kernel, const DeviceState& state) {
  try {
    return {kernel.getInfo<CL_KERNEL_PROGRAM>(), kernel.getInfo<CL_KERNEL_FUNCTION_NAME>().c_str()};
  } catch (const cl::Error& error) {
    throw_cl_error(error.err(), "clCreateKernel", "a kernel that is kept", state.info.name);
  }
}

}  // namespace

void Device::prepare(const KernelSpec& spec) {
  const std::lock_guard lock(state_->launch_mutex);
  kernel_of(*state_, spec);
}

Event Device::launch(const KernelSpec& spec, std::array<std::size_t, 3> global,
                     std::span<const KernelArgument> arguments, std::span<const Event> waits,
                     std::optional<std::array<std::size_t, 3>> group) {
  if (global[0] == 0 || global[1] == 0 || global[2] == 0) return {};
  const std::lock_guard lock(state_->launch_mutex);
  const auto& [shared, limits] = kernel_of(*state_, spec);
  const cl::Kernel kernel = kept_ == nullptr ? shared : twin_of(shared, *state_);
  if (!group) state_->shaped_kernels.insert(spec.kernel);
  const auto local =
      group ? *group
            : work_group_shape(state_->info, spec.kernel, global, state_->tuning.group(spec.kernel, problem_), limits);
  if (!limits.take(local))
    throw ClError(fmt::format("{} of {} needs work-groups of {} work-items, but {} takes {} in one at most, and {} "
                              "along the axes; choose another `device`",
                              spec.kernel, shown_name(spec.file), fmt::join(local, " x "), state_->info.name,
                              limits.items, fmt::join(limits.axes, " x ")),
                  CL_INVALID_WORK_GROUP_SIZE, state_->info.name);
  for (int axis = 0; axis < 3; ++axis) global[axis] = (global[axis] + local[axis] - 1) / local[axis] * local[axis];
  const auto detail = [&] {
    return fmt::format("{} of {}, global {}, group {}", spec.kernel, shown_name(spec.file), fmt::join(global, " x "),
                       fmt::join(local, " x "));
  };
  cl_uint index = 0;
  for (const auto& argument : arguments) {
    const cl_int code = std::visit(
        [&](const auto& value) -> cl_int {
          using Type = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Type, const Buffer*> || std::is_same_v<Type, const ImageArray*>) {
            const auto handle = static_cast<cl_mem>(value->handle());
            return clSetKernelArg(kernel(), index, sizeof handle, &handle);
          } else if constexpr (std::is_same_v<Type, LocalBytes>) {
            return clSetKernelArg(kernel(), index, value.bytes, nullptr);
          } else if constexpr (std::is_same_v<Type, StructArgument>) {
            return clSetKernelArg(kernel(), index, value.bytes.size(), value.bytes.data());
          } else {
            return clSetKernelArg(kernel(), index, sizeof value, &value);
          }
        },
        argument);
    if (code != CL_SUCCESS) throw_cl_error(code, fmt::format("clSetKernelArg({})", index), detail(), state_->info.name);
    ++index;
  }
  return compute(
      "clEnqueueNDRangeKernel", spec.kernel, detail, waits,
      [kernel, global, local](cl::CommandQueue& queue, const std::vector<cl::Event>* after, cl::Event* event) {
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(global[0], global[1], global[2]),
                                   cl::NDRange(local[0], local[1], local[2]), after, event);
      });
}

void Device::finish() {
  // All three, also when one has failed: host memory that their transfers use may go away after this.
  int failed = -1;
  cl_int code = CL_SUCCESS;
  for (int which = 0; which < 3; ++which) {
    const cl_int status = clFinish(state_->queues[which]());
    if (status != CL_SUCCESS && failed < 0) failed = which, code = status;
  }
  record_ended(*state_, true);
  if (failed >= 0) {
    forget_running(*state_);
    throw_cl_error(code, "clFinish", queue_names[failed], state_->info.name);
  }
  try {
    check_running(*state_);
  } catch (...) {
    forget_running(*state_);  // they belong to the failed work
    throw;
  }
  const std::lock_guard lock(state_->running_mutex);
  state_->seen_failed.reset();
}

void Device::check() {
  check_running(*state_);
  // Another thread may have seen it first, and is about to end the work.
  const std::lock_guard lock(state_->running_mutex);
  if (state_->seen_failed) throw_failed(*state_->seen_failed, status_of(*state_->seen_failed));
}

void Device::exclude() {
  state_->excluded = true;
}
bool Device::excluded() const {
  return state_->excluded;
}

void Device::record(std::shared_ptr<Trace> trace) {
  record_ended(*state_, true);
  state_->trace = std::move(trace);
}

}  // namespace halocline
