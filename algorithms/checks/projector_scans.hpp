// Small scans on which users' projectors are checked.
#pragma once

#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// A scan, its projections and a volume that all rays pass.
struct ProjectorScan {
  std::string name;
  Geometry geometry;
  Grid volume, projections;
};

/// Parallel, fan and cone beam: displaced and tilted detectors, one view, one voxel, anisotropic grids of odd sizes
/// along the rotation axis, across it and turned. Some rays follow an axis of the volume exactly; none
/// runs in a face between voxels.
std::vector<ProjectorScan> projector_scans();
/// A cone beam of few pixels and voxels, for Oclgrind.
ProjectorScan tiny_projector_scan();

}  // namespace halocline
