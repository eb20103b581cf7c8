// halocline geometry
#include "apps/commands/geometry_commands.hpp"
#include "apps/job/job.hpp"
#include "apps/options/projection_options.hpp"

namespace halocline {

void ExaminedGeometry::add_to(Settings& settings) {
  settings.add("geometry", geometry, geometry_file_help).positional().required().file(FileKind::geometry);
  settings.add("input", projections, "Projections (u, v, view) whose header says the detector")
      .named("-i,--input")
      .unit("FILE");
  add_detector_options(settings, detector);
  add_grid_options(settings, grid);
}

std::optional<Grid> ExaminedGeometry::take_projections(Job& job) {
  if (projections.empty()) return {};
  const Grid stack =
      placed_projections(detector, job.input_image("-i", projections), "'" + projections + "'", geometry);
  detector = detector.or_else(DetectorPixels::of(stack));
  return stack;
}

std::optional<Grid> ExaminedGeometry::volume() const {
  return grid.size || !grid.like.empty() ? std::optional(make_grid(grid)) : std::nullopt;
}

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
