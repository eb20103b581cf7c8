// Planes through a volume: across its axes, or any direction.
#pragma once

#include <array>

#include "host/volume/volume.hpp"

namespace halocline {

/// The plane of the volume across its index axis `axis` (0, 1, 2) through `position` (world, mm): its pixels are
/// arranged as the voxels along the other two axes, in their order. If the position is on a plane of voxels, the pixels
/// are those voxels. Throws InputError if it lies outside of the volume.
Grid plane_across(const Grid& volume, int axis, const std::array<double, 3>& position);

/// The plane through `position` perpendicular to `normal` (world; of any length): its first axis is across the volume's
/// axis k, the second is the one nearest to k (a plane across k itself: i, and the one across i). Its pixels are
/// squares as wide as the narrowest voxel, and as many as cover the volume, centred on it. Throws InputError for a
/// normal of 0 and a position outside of the volume.
Grid oblique_plane(const Grid& volume, const std::array<double, 3>& position, const std::array<double, 3>& normal);

/// The centre of the volume (world, mm).
std::array<double, 3> centre_of(const Grid& volume);

}  // namespace halocline
