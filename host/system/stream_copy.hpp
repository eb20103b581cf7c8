// Copies to memory that is not read again soon: past the caches, which saves reading what is overwritten (half the time
// where memory is the limit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace halocline {

inline void stream_copy(void* to, const void* from, std::size_t bytes) {
#ifdef __SSE2__
  constexpr std::size_t line = 64;
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const std::size_t before = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
  if (bytes > 64 * line) {
    std::memcpy(target, source, before);
    std::size_t done = before;
    for (; done + line <= bytes; done += line)
      for (std::size_t n = 0; n < line; n += sizeof(__m128i))
        _mm_stream_si128(reinterpret_cast<__m128i*>(target + done + n),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + done + n)));
    _mm_sfence();
    std::memcpy(target + done, source + done, bytes - done);
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace halocline
