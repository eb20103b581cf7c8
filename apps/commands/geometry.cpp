// halocline geometry
#include <CLI/CLI.hpp>

#include "apps/commands/geometry_commands.hpp"

namespace halocline {

void add_geometry(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("geometry", "Make, convert, show and check scan geometries; find the rotation axis");
  sub->require_subcommand(1);
  for (const auto add :
       {add_geometry_circular, add_geometry_convert, add_geometry_show, add_geometry_check, add_geometry_find_axis})
    add(*sub, action);
  sub->footer("Example:\n  halocline geometry show geometry.xml");
}

}  // namespace halocline
