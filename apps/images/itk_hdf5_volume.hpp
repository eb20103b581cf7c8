// Checks what ITK's HDF5 images state about their voxels against those in the file. Only in builds with
// HALOCLINE_WITH_ITK.
#pragma once

#include <string>

namespace halocline {

/// Throws InputError if the file is one of ITK's HDF5 images whose description does not fit its voxels: a part of the
/// header is missing or has another length, Dimension is not the shape of VoxelData, or not all voxels were written.
/// ITK reads what lies within Dimension, and takes unwritten voxels for zeros. Warns, once a file, of further images in
/// it. Other files pass.
void check_hdf5_volume(const std::string& path);

}  // namespace halocline
