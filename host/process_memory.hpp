// What memory this process holds, and what the host has.
#pragma once

#include <cstddef>

namespace halocline {

/// Bytes that the process holds now, and the most that it has held; 0 where the system does not tell.
std::size_t process_bytes();
std::size_t process_peak_bytes();

/// Bytes of the host's memory, or of what its container may use if that is less; 0 if not known.
std::size_t host_memory_bytes();

}  // namespace halocline
