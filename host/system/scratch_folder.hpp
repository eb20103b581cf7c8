// Large host arrays in files instead of memory, for hosts that are too small for them.
#pragma once

#include <cstddef>
#include <string>

namespace halocline {

/// While it lives, new large arrays of allocate_pages() (volumes, the state of runs between two visits of their slabs)
/// lie in files of this folder that are mapped: the system moves their pages to the disk and back as it needs room. The
/// files have no names, so that nothing is left in the folder whatever ends the process. Arrays may outlive it. One at
/// a time.
class ScratchFolder {
 public:
  /// Throws InputError that names `scratch` if the folder is not there, is none or cannot be written.
  explicit ScratchFolder(const std::string& folder);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  /// Takes room on the disk for so many bytes of arrays that are going to come. Throws InputError that names `scratch`
  /// and the bytes if there is none. More than was reserved is taken as it comes, with the same error.
  void reserve(std::size_t bytes);
  /// The most bytes that its arrays had at a time.
  std::size_t peak() const;
  /// Whether its files would lie in memory after all (tmpfs).
  bool in_memory() const;
};

/// Pages of an array of a ScratchFolder need not stay in memory until they are used again; the values stay. Any other
/// memory is left alone. Good at any time, also while others read and write there.
void give_back(const void* begin, std::size_t bytes) noexcept;

/// For allocate_pages(): nullptr where there is no ScratchFolder. Throws InputError if the disk is full.
void* allocate_in_scratch(std::size_t bytes);
/// Whether `memory` was such an array; it is none any more then.
bool free_in_scratch(void* memory) noexcept;

}  // namespace halocline
