// The parts of a user's projector that the toolkit reads in its OpenCL C. Conditional directives are not evaluated.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace halocline {

struct ProjectorText {
  bool trace = false;                                       ///< void trace(TRACE_PARAMETERS)
  bool project = false, backproject = false;                ///< kernels
  std::map<std::string, std::vector<std::string>> defines;  ///< values of `#define name value`, in the text's order
};

/// Reads a text whose lines end in line feeds.
ProjectorText read_projector_text(const std::string& source);

/// The text with `#line` around what it includes, so that compilers name the user's lines as those of projector.cl.
std::string with_lines_named(const std::string& source);

}  // namespace halocline
