// Texts without regard to capitals.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace halocline {

inline std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace halocline
