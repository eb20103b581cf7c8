// The view angles of HDF5 files, read in this process. Only in builds with HALOCLINE_WITH_ITK.
#pragma once

#include <string>
#include <vector>

namespace halocline {

/// As read_hdf5_angles() (hdf5_angles.hpp).
std::vector<double> read_angles_of_hdf5(const std::string& path);

}  // namespace halocline
