// Numbers that kernels and their launches take.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halocline {

/// An argument of a kernel.
inline std::int32_t number(auto value) {
  return static_cast<std::int32_t>(value);
}

/// Number of parts of `each` that cover `all`.
constexpr std::size_t parts_of(std::size_t all, std::size_t each) {
  return (all + each - 1) / each;
}

}  // namespace halocline
