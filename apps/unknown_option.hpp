// What is said about an option that a command does not have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace halocline {

/// "there is no option --aplha; there is --alpha", for the first word left over that looks like an option, with those
/// of `level` and above that are spelt like it; empty if there is none. Call it after a parse that failed.
std::string unknown_option_text(const CLI::App& app, const CLI::App& level);

}  // namespace halocline
