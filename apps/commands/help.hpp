#pragma once

#include "apps/commands/subcommands.hpp"

namespace halocline {

/// As the functions in subcommands.hpp. It tells of the subcommands that there are when it runs.
void add_help(CLI::App& app, Action& action);

}  // namespace halocline
