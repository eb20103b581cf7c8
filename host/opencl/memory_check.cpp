#include "host/opencl/memory_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/opencl/guard_zones.hpp"

namespace halocline {
namespace {

constexpr std::size_t guard_bytes = std::size_t{1} << 16;  // a multiple of every device's alignment of sub-buffers

struct RunningCheck {
  std::mutex mutex;
  std::optional<unsigned char> fill;
  std::vector<std::string> written;
};

RunningCheck& running() {
  static RunningCheck check;
  return check;
}

// Bytes of a guard zone that differ from the fill, and the first and last of them.
struct Changes {
  std::size_t count = 0, first = 0, last = 0;
};

Changes changes_in(DeviceState& state, cl_mem memory, std::size_t offset, unsigned char fill) {
  std::vector<unsigned char> zone(guard_bytes);
  Changes changes;
  if (clEnqueueReadBuffer(state.queue(Queue::compute)(), memory, CL_TRUE, offset, guard_bytes, zone.data(), 0, nullptr,
                          nullptr) != CL_SUCCESS)
    return changes;
  for (std::size_t at = 0; at < guard_bytes; ++at) {
    if (zone[at] == fill) continue;
    if (changes.count++ == 0) changes.first = at;
    changes.last = at;
  }
  return changes;
}

}  // namespace

MemoryCheck::MemoryCheck(unsigned char fill) {
  const std::lock_guard lock(running().mutex);
  running().fill = fill;
  running().written.clear();
}

MemoryCheck::~MemoryCheck() {
  const std::lock_guard lock(running().mutex);
  running().fill.reset();
}

std::vector<std::string> MemoryCheck::written_outside() const {
  const std::lock_guard lock(running().mutex);
  return running().written;
}

std::optional<unsigned char> checked_fill() {
  const std::lock_guard lock(running().mutex);
  return running().fill;
}

cl_mem create_guarded(DeviceState& state, std::size_t bytes, cl_int* code) {
  const std::size_t size = std::max<std::size_t>(bytes, 4), whole = size + 2 * guard_bytes;
  const cl_mem memory = clCreateBuffer(state.context(), CL_MEM_READ_WRITE, whole, nullptr, code);
  if (*code != CL_SUCCESS) return nullptr;
  const std::vector<unsigned char> pattern(whole, checked_fill().value_or(0));
  *code = clEnqueueWriteBuffer(state.queue(Queue::upload)(), memory, CL_TRUE, 0, whole, pattern.data(), 0, nullptr,
                               nullptr);
  const cl_buffer_region part{guard_bytes, size};
  cl_mem result = nullptr;
  if (*code == CL_SUCCESS) result = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, code);
  clReleaseMemObject(memory);  // the part keeps it
  return result;
}

void check_guard_zones(DeviceState& state, const std::string& name, cl_mem memory, std::size_t bytes) {
  const auto fill = checked_fill();
  cl_mem whole = nullptr;
  if (!fill || clGetMemObjectInfo(memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, nullptr) != CL_SUCCESS ||
      whole == nullptr)
    return;
  const std::size_t size = std::max<std::size_t>(bytes, 4);
  const Changes before = changes_in(state, whole, 0, *fill);
  const Changes behind = changes_in(state, whole, guard_bytes + size, *fill);
  if (before.count + behind.count == 0) return;
  std::string text = fmt::format("array {} of {} bytes:", name, bytes);
  if (before.count > 0)
    text += fmt::format(" {} bytes before it, the last {} before its begin", before.count, guard_bytes - before.last);
  if (behind.count > 0)
    text += fmt::format("{} {} bytes behind it, the first {} after its end", before.count > 0 ? ";" : "", behind.count,
                        behind.first);
  const std::lock_guard lock(running().mutex);
  running().written.push_back(text);
}

}  // namespace halocline
