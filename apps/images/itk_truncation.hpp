// Truncated files that ITK 5 reads without complaint: NIfTI and DICOM get something for what is
// missing, TIFF loses its last pages.
#pragma once

#include <string>

namespace halocline {

/// Throws InputError with the found and the expected bytes if the voxels of a NIfTI-1, NIfTI-2 or Analyze file (.nii,
/// or .hdr with .img; gzipped or not) are not all there. Anything that is no such file is left to the reader.
void require_whole_nifti(const std::string& path);

/// Throws InputError if the pixel data (7FE0,0010) of an uncompressed little-endian DICOM file are longer than the
/// file. Anything that is no such file is left to the reader.
void require_whole_dicom(const std::string& path);

}  // namespace halocline
