// Messages about an option or a subcommand that does not exist.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace halocline {

/// The name that is spelt most like `word` (Damerau 1964), or that begins with it; empty if none is close.
std::string closest_name(const std::string& word, const std::vector<std::string>& names);

/// "there is no option --aplha; there is --alpha", for the first word left over that looks like an option, with those
/// of `level` and above that are spelt like it; empty if there is none. Call it after a parse that failed.
std::string unknown_option_text(const CLI::App& app, const CLI::App& level);

/// The message for a word that is none of these options.
std::string unknown_option_text(const std::string& word, const std::vector<std::string>& options);

}  // namespace halocline
