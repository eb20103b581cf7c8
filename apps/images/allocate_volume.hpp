// Room for the voxels of an image file.
#pragma once

#include <string>

#include "host/volume/typed_volume.hpp"

namespace halocline {

/// Throws InputError that names the file unless the grid is sound and the voxels fit the host memory.
TypedVolume allocate_volume(const Grid& grid, Component component, const std::string& path,
                            const Scaling& scaling = {});

}  // namespace halocline
