// "1 view", "2 views": how many there are of something, for messages.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace halocline {

template <class Number>
std::string plural(Number count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == Number{1} ? one : many);
}

inline std::string views_text(std::size_t count) {
  return plural(count, "view", "views");
}

}  // namespace halocline
