// NIfTI-1 and NIfTI-2 files, alone or as pairs of a header and its voxels, gzipped or not.
#pragma once

#include <optional>
#include <string>

#include "apps/images/stored_image.hpp"

namespace halocline {

/// Nothing for a file whose name is not that of NIfTI. Throws UnsupportedImage for Analyze 7.5, for values of several
/// components or of a particular meaning, and where it is not sure which of two transforms that differ ITK takes;
/// InputError for headers that are damaged.
std::optional<StoredImage> nifti_image(const std::string& path);

}  // namespace halocline
