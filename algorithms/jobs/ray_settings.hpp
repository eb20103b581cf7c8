// The settings `projector` and `rays`, and what they come to for a scan and a volume.
#pragma once

#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "algorithms/jobs/settings.hpp"
#include "algorithms/projectors/projector.hpp"

namespace halocline {

struct RaySettings {
  std::string projector = "automatic", rays = "automatic";
};

/// about: what the projector does, for the help. more: other values of `projector` than projectors.
void add_ray_settings(Settings& settings, RaySettings& rays, const std::string& about,
                      const std::vector<std::string>& more = {});

struct RayChoices {
  Geometry geometry;  ///< with `ray_ends` chosen
  Projector projector = Projector::joseph;
};
/// Warns of rays that end within the volume, which `name` calls, of a virtual detector and of voxels finer than rays.
/// hardware: interpolation by texture units, which chooses joseph.
RayChoices choose_rays(const RaySettings& rays, bool hardware, Geometry geometry, const Grid& volume,
                       const std::string& name, const Grid& projections);

}  // namespace halocline
