// The parser of the whole command line.
#pragma once

#include "apps/commands/subcommands.hpp"

namespace halocline {

/// Adds a subcommand with its options and what is below it. The one that a parsed line names becomes `chosen`.
/// `command` has to outlive the parser.
void add_command(CLI::App& app, Command& command, Command*& chosen);

}  // namespace halocline
