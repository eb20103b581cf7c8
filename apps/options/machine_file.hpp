// The folder of the described machines that come with Halocline.
#pragma once

#include <string>

namespace halocline {

/// The file that --machine names: a path, or the name of a description that is installed with the command ("h200x8").
/// Throws InputError that lists those names if there is neither.
std::string machine_file(const std::string& path_or_name);

}  // namespace halocline
