// Volumes in host memory of which each rank has made a part.
#pragma once

#include "host/volume/volume.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// Brings a float32 volume, of which each rank has the slices of its slabs of the plan, to all ranks of it. No effect
/// on one rank.
void share_volume(const Plan& plan, const Grid& grid, float* voxels);

/// The slices that a rank writes of a volume which all of them have: an even part, in order of ranks.
Range slices_to_write(const Grid& grid, const Ranks& ranks);

}  // namespace halocline
