// Rays that run in faces between voxels, which exact lengths share between the voxels on either side:
// cl/siddon_faces.clh.
#pragma once

#include "algorithms/projectors/rays.hpp"

namespace halocline {

/// Whether any ray may run in a face. Where it is not certain, it may: the kernels look at each ray themselves, and
/// take longer for it.
bool may_run_in_faces(const RayTable& table, const Grid& volume, const Grid& projections);

}  // namespace halocline
