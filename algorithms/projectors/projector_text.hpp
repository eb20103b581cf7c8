// The parts of a user's projector that the toolkit reads in its OpenCL C. Where a condition (#if) is known, by the text
// or the caller's macros, its lines count or do not; where it depends on the compiler, all its branches count.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace halocline {

struct ProjectorText {
  bool trace = false;                                       ///< void trace(TRACE_PARAMETERS)
  int project = 0, backproject = 0;                         ///< lines of the kernels' names; 0: no such kernel
  bool knows_ends = false;                                  ///< it uses `segment` or SEGMENT_OF
  std::map<std::string, std::vector<std::string>> defines;  ///< values of `#define name value`, in the text's order
};

/// Reads a text whose lines end in line feeds.
ProjectorText read_projector_text(const std::string& source, const std::map<std::string, std::string>& macros = {});

/// The text with `#line` around what it includes, so that compilers name the user's lines as those of projector.cl.
std::string with_lines_named(const std::string& source);

}  // namespace halocline
