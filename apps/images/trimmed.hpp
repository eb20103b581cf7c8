// Text without the blanks around it.
#pragma once

#include <string>

namespace halocline {

inline std::string trimmed(const std::string& text) {
  const char* blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace halocline
