// Series of image files of one slice or projection each, whatever format ITK reads. Only in builds with ITK.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/images/image_info.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// Stacks the files in this order along the third axis, whose spacing is 1 mm; the rest of the grid is that of the
/// first file. DICOM files that say different places are stacked by these. Only headers are read. Throws InputError
/// that names the file that is not one slice, has another size than the first, or is of another kind: white-is-zero,
/// with another orientation, or without the rescale that others have. Pixels of another size or
/// type get a warning.
ImageInfo read_itk_series_info(const std::vector<std::string>& files, const std::string& name);

/// Throws InputError that names both files if `file`, of the series `name`, is of another kind than the first one: TIFF
/// that is white-is-zero or has another orientation, or DICOM without the rescale of the other.
void require_same_itk_kind(const std::string& file, const std::string& first, const std::string& name);

/// The voxels, file by file as they are asked for: not all of the series is in memory. Values may be stored in a type
/// of each file's own.
std::unique_ptr<VolumeSource> open_itk_series(std::vector<std::string> files, const std::string& name);

}  // namespace halocline
