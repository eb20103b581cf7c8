// Warnings that a process makes once.
#pragma once

#include <string>

namespace halocline {

/// True at the first call with this text: headers are read, and files written, again and again.
bool is_new_warning(const std::string& about);

}  // namespace halocline
