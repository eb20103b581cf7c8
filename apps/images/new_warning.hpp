// Warnings that a process makes once.
#pragma once

#include <set>
#include <string>

namespace halocline {

/// True at the first call with this text: headers are read, and files written, again and again.
bool is_new_warning(const std::string& about);

/// The texts so far, and those of another process that works for this one.
std::set<std::string> all_warnings();
void add_warnings(const std::set<std::string>& about);

}  // namespace halocline
