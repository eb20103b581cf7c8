// Checks shared by all functions that take a volume and devices from a caller.
#pragma once

#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Throws InputError that names `name` unless the grid is one (check_grid()) and has a value for each voxel.
void check_size(const Volume& volume, const std::string& name);
/// Throws as above, and unless all voxels are finite.
void check_volume(const Volume& volume, const std::string& name);

/// Throws InputError if there is none.
void check_devices(const std::vector<Device>& devices);

}  // namespace halocline
