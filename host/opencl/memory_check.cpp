#include "host/opencl/memory_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/opencl/guard_zones.hpp"

namespace halocline {
namespace {

constexpr std::size_t guard_bytes = std::size_t{1} << 16;  // a multiple of every device's alignment of sub-buffers

struct Fills {
  unsigned char inside, guard;
};

struct RunningCheck {
  std::mutex mutex;
  std::optional<Fills> fills;
  std::vector<std::string> written;
};

RunningCheck& running() {
  static RunningCheck check;
  return check;
}

std::optional<Fills> running_fills() {
  const std::lock_guard lock(running().mutex);
  return running().fills;
}

// Bytes of a guard zone that differ from the fill, and the first and last of them. code: of the read.
struct Changes {
  std::size_t count = 0, first = 0, last = 0;
  cl_int code = CL_SUCCESS;
};

Changes changes_in(DeviceState& state, cl_mem memory, std::size_t offset, unsigned char fill) {
  std::vector<unsigned char> zone(guard_bytes);
  Changes changes;
  changes.code = clEnqueueReadBuffer(state.queue(Queue::compute)(), memory, CL_TRUE, offset, guard_bytes, zone.data(),
                                     0, nullptr, nullptr);
  for (std::size_t at = 0; at < guard_bytes && changes.code == CL_SUCCESS; ++at) {
    if (zone[at] == fill) continue;
    if (changes.count++ == 0) changes.first = at;
    changes.last = at;
  }
  return changes;
}

// Empty where both zones are as they were made.
std::string text_of(const Changes& before, const Changes& behind) {
  if (const cl_int code = before.code != CL_SUCCESS ? before.code : behind.code; code != CL_SUCCESS)
    return fmt::format(" its guard zones cannot be read ({})", cl_error_name(code));
  std::string text;
  if (before.count > 0)
    text += fmt::format(" {} bytes before it, the last {} before its begin", before.count, guard_bytes - before.last);
  if (behind.count > 0)
    text += fmt::format("{} {} bytes behind it, the first {} after its end", before.count > 0 ? ";" : "", behind.count,
                        behind.first);
  return text;
}

}  // namespace

MemoryCheck::MemoryCheck(unsigned char fill, unsigned char guard) {
  const std::lock_guard lock(running().mutex);
  running().fills = {fill, guard};
  running().written.clear();
}

MemoryCheck::~MemoryCheck() {
  const std::lock_guard lock(running().mutex);
  running().fills.reset();
}

std::vector<std::string> MemoryCheck::written_outside() const {
  const std::lock_guard lock(running().mutex);
  return running().written;
}

bool memory_is_checked() {
  return running_fills().has_value();
}

cl_mem create_guarded(DeviceState& state, std::size_t bytes, cl_int* code) {
  const std::size_t size = std::max<std::size_t>(bytes, 4), whole = size + 2 * guard_bytes;
  const cl_mem memory = clCreateBuffer(state.context(), CL_MEM_READ_WRITE, whole, nullptr, code);
  if (*code != CL_SUCCESS) return nullptr;
  const Fills fills = running_fills().value_or(Fills{});
  std::vector<unsigned char> pattern(whole, fills.guard);
  std::fill_n(pattern.begin() + guard_bytes, size, fills.inside);
  *code = clEnqueueWriteBuffer(state.queue(Queue::upload)(), memory, CL_TRUE, 0, whole, pattern.data(), 0, nullptr,
                               nullptr);
  const cl_buffer_region part{guard_bytes, size};
  cl_mem result = nullptr;
  if (*code == CL_SUCCESS) result = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, code);
  clReleaseMemObject(memory);  // the part keeps it
  return result;
}

void check_guard_zones(DeviceState& state, const std::string& name, cl_mem memory, std::size_t bytes) {
  const auto fills = running_fills();
  cl_mem whole = nullptr;
  if (!fills || clGetMemObjectInfo(memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, nullptr) != CL_SUCCESS ||
      whole == nullptr)
    return;
  const std::size_t size = std::max<std::size_t>(bytes, 4);
  const std::string found =
      text_of(changes_in(state, whole, 0, fills->guard), changes_in(state, whole, guard_bytes + size, fills->guard));
  if (found.empty()) return;
  const std::lock_guard lock(running().mutex);
  running().written.push_back(fmt::format("array {} of {} bytes:{}", name, bytes, found));
}

}  // namespace halocline
