// The view angles of Data Exchange files (DXchange; De Carlo et al. 2014): HDF5 with the angles in /exchange/theta.
#pragma once

#include <string>
#include <vector>

namespace halocline {

/// /exchange/theta in degrees, one a view, from whatever type it is stored in. Radians are converted if the dataset's
/// attribute `units` says so. Throws InputError that names the file if it cannot be read, has no such dataset or holds
/// something else, and in builds without ITK.
std::vector<double> read_hdf5_angles(const std::string& path);

}  // namespace halocline
