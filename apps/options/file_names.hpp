// Names of files: of several, and of drawings.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace halocline {

/// "out_%02d.mha" with 3 is "out_03.mha", and "out_%02d_%04d.tif" is "out_03_%04d.tif". Throws InputError that names
/// `option` if there is no such place.
std::string numbered(const std::string& option, const std::string& pattern, std::size_t number);

/// "A.mha,B.mha" as two paths; InputError that names `option` if it is not that.
std::array<std::string, 2> parse_pair(const std::string& option, const std::string& text);

/// Throws InputError that names `option` unless `path` is empty or ends with .svg.
void require_svg(const std::string& option, const std::string& path);

/// "den.mha" and 40: "den_alpha40.mha".
std::string path_output(const std::string& output, double alpha);

}  // namespace halocline
