// The subcommands of `halocline geometry`, one function each, like those of apps/commands/subcommands.hpp.
#pragma once

#include <optional>
#include <string>

#include "apps/commands/subcommands.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/grid_options.hpp"

namespace halocline {

/// A geometry, and the detector and the volume with which it is examined.
struct ExaminedGeometry {
  std::string geometry, projections;
  DetectorPixels detector;
  GridOptions grid;

  void add_to(Settings& settings);
  /// The grid of the projections, if there are any; completes the detector.
  std::optional<Grid> take_projections(Job& job);
  std::optional<Grid> volume() const;
};

std::unique_ptr<Command> geometry_circular_command();
std::unique_ptr<Command> geometry_convert_command();
std::unique_ptr<Command> geometry_show_command();
std::unique_ptr<Command> geometry_check_command();
std::unique_ptr<Command> geometry_find_axis_command();

}  // namespace halocline
