// Buffers with guard zones, for MemoryCheck. Included by host/opencl/*.cpp alone.
#pragma once

#include <optional>
#include <string>

#include "host/opencl/opencl.hpp"

namespace halocline {

/// True while a MemoryCheck lives.
bool memory_is_checked();
/// A part of a larger buffer, with guard zones before and behind it.
cl_mem create_guarded(DeviceState& state, std::size_t bytes, cl_int* code);
/// Notes for the MemoryCheck what has changed in the guard zones of such a buffer; other buffers are ignored.
void check_guard_zones(DeviceState& state, const std::string& name, cl_mem memory, std::size_t bytes);

}  // namespace halocline
