// Modes that a bench does not measure.
#pragma once

#include <string>

namespace halocline {

/// "mode: why", with the first line of the reason.
inline std::string left_out(const std::string& mode, const std::string& reason) {
  return mode + ": " + reason.substr(0, reason.find('\n'));
}

}  // namespace halocline
