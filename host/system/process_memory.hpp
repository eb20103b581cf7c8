// Memory of this process and of the host.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

namespace halocline {

/// Bytes of the process now, and at most so far; 0 where the system does not report them.
std::size_t process_bytes();
std::size_t process_peak_bytes();

/// The most that the process has held since the beginning, but of mapped files what was there at construction alone:
/// pages of those that came later (host/system/scratch_folder.hpp) can be had back from the disk, and the system takes
/// them as it needs room. Looks 50 times a second, for the system keeps no such record.
class MemoryWatch {
 public:
  MemoryWatch();
  std::size_t peak() const { return peak_; }

 private:
  void look();
  std::size_t files_ = 0;
  std::atomic<std::size_t> peak_{0};
  std::jthread watcher_;
};

/// Bytes of the host's memory, or what its container or ulimit -v and -d let the process have if less; 0: not known.
std::size_t host_memory_bytes();
/// True if host_memory_bytes() is limited by ulimit.
bool limited_by_ulimit();

}  // namespace halocline
