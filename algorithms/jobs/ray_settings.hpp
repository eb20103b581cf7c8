// The settings `projector` and `rays`, and what they come to for a scan and a volume.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "algorithms/jobs/settings.hpp"
#include "algorithms/projectors/projector.hpp"

namespace halocline {

/// The numbers of an image by its name, whatever its grid.
using NumbersOf = std::function<std::vector<float>(const std::string& image)>;

struct RaySettings {
  std::string projector = "automatic", rays = "automatic";
  std::vector<std::string> tables;  ///< of a user's projector: "NAME=IMAGE"
};

/// about: what the projector does, for the help. more: other values of `projector` than projectors.
void add_ray_settings(Settings& settings, RaySettings& rays, const std::string& about,
                      const std::vector<std::string>& more = {});

struct RayChoices {
  Geometry geometry;  ///< with `ray_ends` chosen
  Projector projector = Projector::joseph;
};
/// Warns of rays that end within the volume, which `name` calls, of a virtual detector and of voxels finer than rays.
/// hardware: interpolation by texture units, which chooses joseph. numbers_of: reads tables. Throws InputError as
/// projector_from_name() does, and for tables without a projector that takes them, or of a wrong form.
RayChoices choose_rays(const RaySettings& rays, bool hardware, Geometry geometry, const Grid& volume,
                       const std::string& name, const Grid& projections, const NumbersOf& numbers_of);

}  // namespace halocline
