// The single entry point for image files: the format goes by the name's extension.
//
// Always: .mha, .mhd, .raw with its .mhd beside it. Through ITK: .nrrd, .nii, .nii.gz, .tif, .tiff, .h5, .hdf5, and for
// reading also .nhdr, .hdr/.img, .dcm, a folder with one DICOM series, and whatever else those readers recognise by
// content. TIFF keeps neither origin nor direction nor the spacing between slices.
#pragma once

#include <string>

#include "apps/io/image_info.hpp"
#include "host/cutout.hpp"
#include "host/volume.hpp"

namespace halocline {

/// Grid and type of an image, from its header only. Throws InputError.
ImageInfo read_image_info(const std::string& path);

/// Reads a 2D or 3D image of any scalar type as float32; 2D gets size 1 along z. NaN and Inf are an InputError that
/// says where, or become 0 with `allow_nonfinite`. Throws InputError that names the file, what was found and what was
/// expected.
Volume read_image(const std::string& path, bool allow_nonfinite = false);

/// The same of a box of voxels, which must lie in the image. Only they are read, as far as the format allows (MetaImage
/// without compression does); only they are looked at for NaN and Inf.
Volume read_image_part(const std::string& path, const Cutout& part, bool allow_nonfinite = false);

/// Writes float32. The file appears whole or not at all; an older one is replaced only then. Throws InputError for an
/// unknown extension, FileError with path and remedy if the disk is full or the folder cannot be written. Files
/// compressed through ITK are read back to be sure, which needs the volume's memory once more.
void write_image(const Volume& volume, const std::string& path, bool compressed = false);

/// What write_image would refuse, before a long computation: InputError for an unknown extension or a missing folder,
/// FileError for a folder that cannot be written. Leaves nothing behind.
void check_writable(const std::string& path);

}  // namespace halocline
