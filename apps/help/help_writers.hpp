// The forms that help has, a function each. `command` is what the help is of: the whole command or one of its
// subcommands.
#pragma once

#include <string>

#include "apps/help/command_table.hpp"

namespace halocline {

/// troff for man(1): halocline(1), or halocline-geometry-circular(1).
std::string man_page(const CommandTable& table, const CommandEntry& command);

/// Completion of the whole command, for the shells' own folders of completions.
std::string bash_completion(const CommandTable& table);
std::string zsh_completion(const CommandTable& table);

/// All that the table has of the command and what is below it.
std::string help_json(const CommandTable& table, const CommandEntry& command);

/// A page of reStructuredText: the command, without what is below it.
std::string rst_page(const CommandTable& table, const CommandEntry& command);

}  // namespace halocline
