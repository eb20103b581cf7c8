#include "apps/images/hdf5_angles.hpp"

#ifndef HALOCLINE_WITH_ITK

#include "host/system/error.hpp"

namespace halocline {

std::vector<double> read_hdf5_angles(const std::string& path) {
  throw InputError(path +
                   ": HDF5 files are read through ITK, which this build is without; write the angles to a text "
                   "file and use `CircularOptions::angles`");
}

}  // namespace halocline

#endif
