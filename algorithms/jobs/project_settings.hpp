// The settings of projection and back-projection.
#pragma once

#include <string>

#include "algorithms/jobs/ray_settings.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/projector.hpp"

namespace halocline {

struct ProjectSettings {
  RaySettings rays;
  std::string interpolation = "exact";

  bool hardware() const { return interpolation != "exact"; }
  ProjectionParameters parameters(const Projector& projector) const;
};

void add_project_settings(Settings& settings, ProjectSettings& project);

/// The value of `projector` that is no projector: back-projection by bilinear interpolation at projected voxel centres.
constexpr const char* voxel_driven = "voxel";

struct BackprojectSettings {
  RaySettings rays;
  std::string interpolation = "exact";

  bool voxels() const { return rays.projector == voxel_driven; }
  /// Parameters of `projector = voxel`.
  BackprojectionParameters parameters() const;
  /// Throws InputError if `interpolation` does not go with the projector.
  void check() const;
};

void add_backproject_settings(Settings& settings, BackprojectSettings& backproject);

}  // namespace halocline
