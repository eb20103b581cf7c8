// The subcommands of `halocline geometry`, one function each, like those of apps/commands/subcommands.hpp.
#pragma once

#include "apps/commands/subcommands.hpp"

namespace halocline {

void add_geometry_circular(CLI::App& app, Action& action);
void add_geometry_convert(CLI::App& app, Action& action);
void add_geometry_show(CLI::App& app, Action& action);
void add_geometry_check(CLI::App& app, Action& action);
void add_geometry_find_axis(CLI::App& app, Action& action);

}  // namespace halocline
