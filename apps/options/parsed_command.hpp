// The subcommand that a command line names.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace halocline {

/// "geometry show" of `halocline geometry show ...`: as far as the parser came.
const CLI::App& innermost(const CLI::App& app);
/// Its name with those above it; empty: none was named.
std::string command_name(const CLI::App& app);

}  // namespace halocline
