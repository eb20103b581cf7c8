// Checks of what kernels do to device memory: new arrays that hold a chosen byte, between guard zones.
#pragma once

#include <string>
#include <vector>

namespace halocline {

/// Fills new buffers of device memory with a byte during its lifetime, and puts guard zones of another before and
/// behind each. Results that change with the first depend on memory that nobody wrote; with the second, on memory
/// outside of arrays. One at a time.
class MemoryCheck {
 public:
  MemoryCheck(unsigned char fill, unsigned char guard);
  ~MemoryCheck();
  MemoryCheck(const MemoryCheck&) = delete;
  MemoryCheck& operator=(const MemoryCheck&) = delete;

  /// A text for each array so far whose guard zones were found changed when it was freed, or could not be read.
  std::vector<std::string> written_outside() const;
};

}  // namespace halocline
