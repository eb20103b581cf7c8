// A constant for tests under a sanitizer, which takes memory of its own and slows calls down.
#pragma once

namespace halocline {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace halocline
