// Rays that run in faces between voxels, which exact lengths share between the voxels on either side:
// cl/siddon_faces.clh.
#pragma once

#include "algorithms/projectors/rays.hpp"

namespace halocline {

/// True if any ray may run in a face. In doubtful cases it is true: the kernels examine each ray themselves, which
/// takes longer.
bool may_run_in_faces(const RayTable& table, const Grid& volume, const Grid& projections);

}  // namespace halocline
