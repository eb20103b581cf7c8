// Vectors whose elements are not written until somebody has something to write there.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace halocline {

/// Memory of `bytes` bytes, aligned for any scalar; large blocks begin on a page of 2 MiB and are marked as fit for
/// such pages, which the system then hands out 512 times as fast as small ones. Throws std::bad_alloc.
void* allocate_pages(std::size_t bytes);
void free_pages(void* memory) noexcept;

/// Leaves new elements as they are instead of setting them to 0: the pages of a large array are then touched first by
/// the threads that fill it, all of them at once. An explicit value (vector(n, 0), resize(n, 0)) is written as usual.
template <typename T>
class UninitialisedAllocator {
 public:
  using value_type = T;
  UninitialisedAllocator() = default;
  template <typename U>
  UninitialisedAllocator(const UninitialisedAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_pages(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept { free_pages(memory); }
  template <typename U>
  void construct(U* at) noexcept(std::is_nothrow_default_constructible_v<U>) {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
  template <typename U>
  bool operator==(const UninitialisedAllocator<U>&) const noexcept {
    return true;
  }
};

template <typename T>
using UninitialisedVector = std::vector<T, UninitialisedAllocator<T>>;

}  // namespace halocline
