// The settings `projector` and `rays` of the C interface.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/projectors/projector.hpp"
#include "capi/settings.hpp"

namespace halocline::capi {

struct RaySettings {
  std::optional<Projector> projector;  ///< none: default_projector()
  RayEnds ends = RayEnds::automatic;

  void add_rays(Settings& settings);
  void add_projector(Settings& settings);
  /// The geometry with `ray_ends` chosen. Warnings go to the library's log: of rays that end within the volume, of a
  /// virtual detector, of voxels finer than rays.
  Geometry choose(bool hardware, Geometry geometry, const Grid& volume, const Grid& projections);
};

}  // namespace halocline::capi
