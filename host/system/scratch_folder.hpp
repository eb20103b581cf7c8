// Large host arrays in files instead of memory, for hosts that are too small for them.
#pragma once

#include <cstddef>
#include <string>

namespace halocline {

/// Maps new large arrays of allocate_pages() (volumes, the state of runs between two visits of their slabs) from files
/// of this folder during its lifetime: the system moves their pages to the disk and back as it needs room. The files
/// have no names, so that nothing is left in the folder however the process ends. Arrays may outlive it. One at a time.
class ScratchFolder {
 public:
  /// Throws InputError that names `scratch` if the folder is not there, is none or cannot be written.
  explicit ScratchFolder(const std::string& folder);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  /// Reserves room on the disk for so many bytes of later arrays. Throws InputError that names `scratch` and the bytes
  /// if there is none. Larger arrays reserve more, with the same error.
  void reserve(std::size_t bytes);
  /// The most bytes that its arrays had at a time.
  std::size_t peak() const;
  /// True if its files would be in memory (tmpfs).
  bool in_memory() const;
};

/// Releases pages of an array of a ScratchFolder from memory until they are used again; the values remain. Other memory
/// is ignored. Safe at any time, also while others read and write there.
void give_back(const void* begin, std::size_t bytes) noexcept;

/// True if the address is in an array of a ScratchFolder.
bool lies_in_scratch(const void* address) noexcept;

/// Allocates for allocate_pages(): nullptr where there is no ScratchFolder. Throws InputError if the disk is full.
void* allocate_in_scratch(std::size_t bytes);
/// Frees `memory` if it is such an array, and returns true.
bool free_in_scratch(void* memory) noexcept;

}  // namespace halocline
