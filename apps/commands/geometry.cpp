// halocline geometry
#include "apps/commands/geometry_commands.hpp"

namespace halocline {

std::unique_ptr<Command> geometry_command() {
  auto command =
      std::make_unique<Command>("geometry", "Make, convert, show and check scan geometries; find the rotation axis");
  for (const auto make : {geometry_circular_command, geometry_convert_command, geometry_show_command,
                          geometry_check_command, geometry_find_axis_command})
    command->subcommands.push_back(make());
  command->footer = "Example:\n  halocline geometry show geometry.xml";
  return command;
}

}  // namespace halocline
