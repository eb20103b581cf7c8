// Types of voxels that ITK does not read, or reads wrongly: refused in words of ours.
#pragma once

#include <itkImageIOBase.h>

#include <string>

namespace halocline {

/// Throws the InputError of a file that no reader of ITK takes.
[[noreturn]] void refuse_unknown_file(const std::string& path);

/// Throws InputError if the header that was read is of DICOM pixels of which ITK gives other values than are stored.
void check_dicom_pixels(const itk::ImageIOBase& io, const std::string& path);

/// Throws InputError if the file is one of ITK's HDF5 images with voxels that ITK does not read. Other files pass.
void check_hdf5_type(const std::string& path);

}  // namespace halocline
