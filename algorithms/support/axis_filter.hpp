// Symmetric filters along the axes of a volume, on the host.
#pragma once

#include <vector>

#include "host/volume/volume.hpp"

namespace halocline {

/// Each line along `axis` convolved with weights of the voxels 0, 1, 2, ... away, to both sides. Beyond its faces the
/// volume continues as its mirror image. Axes with one voxel remain unchanged.
void filter_along(Volume& volume, int axis, const std::vector<double>& weights);

/// A Gaussian of this standard deviation in voxels along all axes.
Volume gaussian_smoothed(Volume volume, double sigma);

}  // namespace halocline
