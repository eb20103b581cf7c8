// The options --projector and --rays, and what they come to for a scan and a volume.
#pragma once

#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "algorithms/projectors/projector.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace halocline {

struct ProjectorOptions {
  std::string name = "automatic", rays = "automatic";
};

/// `more`: other values of --projector than projectors.
std::vector<CLI::Option*> add_projector_options(CLI::App& sub, ProjectorOptions& options, const std::string& about,
                                                const std::vector<std::string>& more = {});

struct RayChoices {
  Geometry geometry;  ///< with `ray_ends` chosen
  Projector projector = Projector::joseph;
};
/// Warns of rays that end within the volume, which `name` calls, of a virtual detector and of voxels finer than rays.
/// hardware: of the interpolation, which chooses joseph.
RayChoices choose_rays(const ProjectorOptions& options, bool hardware, Geometry geometry, const Grid& volume,
                       const std::string& name, const Grid& projections);

}  // namespace halocline
