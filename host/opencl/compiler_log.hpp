// Places that a compiler's log names in a source with `#line`.
#pragma once

#include <string>

namespace halocline {

/// The log of NVIDIA's compiler, which counts the lines of the whole text, with the names and lines that `#line`
/// states.
std::string in_own_lines(const std::string& log, const std::string& source);

/// The source with line numbers of the compiler: a line `#line 7` makes the next one number 7.
std::string numbered(const std::string& source);

/// The numbered lines after `#line` that the log names, at most 20, each of at most 200 bytes.
std::string lines_of_log(const std::string& source, const std::string& log);

}  // namespace halocline
