// Image files through ITK: NRRD, NIfTI, HDF5, and DICOM files and series; TIFF is written through it and read by
// libtiff_image.hpp. Only in builds with HALOCLINE_WITH_ITK.
#pragma once

#include <string>

#include "apps/images/image_info.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

/// True if one of ITK's readers takes this file, whatever its name is.
bool itk_can_read(const std::string& path);

/// True if there are DICOM files in this folder.
bool itk_holds_dicom(const std::string& folder);

/// Reads the header only. A folder is read as the one DICOM series in it; several are an InputError that lists them.
/// Slices of DICOM lie where each frame or file says (itk_dicom.hpp).
ImageInfo read_itk_image_info(const std::string& path);

/// Reads any scalar type as it is, in world coordinates of ITK (LPS, mm). Throws InputError with ITK's reason.
TypedVolume read_itk_typed(const std::string& path);

/// The frames of a DICOM file in its own order: their number and size, the type of what ITK makes of its values, and
/// the one rescaling that it applies to all of them. ITK's spacing, origin and direction need not be those of the
/// frames.
ImageInfo read_itk_frames_info(const std::string& path);
/// These values, on a grid that has nothing but the size.
TypedVolume read_itk_frames(const std::string& path);

/// Writes grid.count() values, stored as `storage` says, straight to `path`, in the format of its extension: NIfTI
/// keeps the scaling, NIfTI and NRRD the notes of their own format. Not atomic: the caller gives a temporary name.
/// Throws InputError for float16, FileError with ITK's reason.
void write_itk_image(const Grid& grid, const ImageStorage& storage, const void* voxels, const std::string& path,
                     bool compressed);

/// Detects a full disk, which not all of ITK's writers report: throws FileError if the file is smaller than its voxels
/// or, for .gz, if reading it back gives anything else.
void verify_itk_image(const Grid& grid, const ImageStorage& storage, const void* voxels, const std::string& path);

}  // namespace halocline
