#include "host/system/uninitialised.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "host/system/scratch_folder.hpp"

namespace halocline {
namespace {

constexpr std::size_t large_page = std::size_t{2} << 20, worth_large_pages = 2 * large_page;

}  // namespace

void* allocate_pages(std::size_t bytes) {
  const bool large = bytes >= worth_large_pages;
  if (large)  // whole volumes: pieces of them are smaller
    if (void* memory = allocate_in_scratch(bytes)) return memory;
  const std::size_t alignment = large ? large_page : alignof(std::max_align_t);
  if (bytes > static_cast<std::size_t>(-1) - alignment) throw std::bad_alloc();
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef __linux__
  if (large) ::madvise(memory, rounded, MADV_HUGEPAGE);  // where the system has none, small ones do
#endif
  return memory;
}

void free_pages(void* memory) noexcept {
  if (!free_in_scratch(memory)) std::free(memory);
}

}  // namespace halocline
