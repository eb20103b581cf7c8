// Named arrays and what a command does with them.
#pragma once

#include <string>
#include <utility>

namespace halocline {

enum class Access { in, out, inout };

/// A named array as a kernel argument. The launch waits for what wrote it (in), or also for what reads it (out, inout).
struct ArrayAccess {
  std::string name;
  Access access;
};
inline ArrayAccess in(std::string name) {
  return {std::move(name), Access::in};
}
inline ArrayAccess out(std::string name) {
  return {std::move(name), Access::out};
}
inline ArrayAccess inout(std::string name) {
  return {std::move(name), Access::inout};
}

}  // namespace halocline
