// TIFF files through libtiff: tiles, compressions, values that share bytes, and whatever else tiff_image.hpp does not
// read. Only in builds with HALOCLINE_WITH_ITK.
#pragma once

#include <string>

#include "apps/images/image_info.hpp"
#include "apps/images/tiff_stack.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

/// The header of a file for which is_tiff_file() is true. Throws InputError.
ImageInfo read_libtiff_info(const std::string& path);
TiffKind read_libtiff_kind(const std::string& path);
TypedVolume read_libtiff(const std::string& path);

}  // namespace halocline
