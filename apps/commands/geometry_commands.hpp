// The subcommands of `halocline geometry`, one function each, like those of apps/commands/subcommands.hpp.
#pragma once

#include "apps/commands/subcommands.hpp"

namespace halocline {

std::unique_ptr<Command> geometry_circular_command();
std::unique_ptr<Command> geometry_convert_command();
std::unique_ptr<Command> geometry_show_command();
std::unique_ptr<Command> geometry_check_command();
std::unique_ptr<Command> geometry_find_axis_command();

}  // namespace halocline
