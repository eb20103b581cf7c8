// TIFF files are read through libtiff. Only in builds with HALOCLINE_WITH_ITK, through which they are written.
//
// Each page that is no preview and no mask is a slice, with one grey value a pixel as it is stored: rows and columns in
// the order of the file whatever its orientation says, and white-is-zero is not inverted, as tifffile and ImageJ take
// them. Anything else is refused.
#pragma once

#include <cstdint>
#include <string>

#include "apps/images/image_info.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

/// True if the file begins as TIFF or BigTIFF files do. Throws InputError for what is no regular file.
bool is_tiff_file(const std::string& path);

/// The header of a file for which is_tiff_file() is true, as below. Throws InputError.
ImageInfo read_tiff_info(const std::string& path);

/// The meaning of the values of the first page and the order of its rows and columns, by the tags 262 and 274.
struct TiffKind {
  bool white_is_zero = false;
  std::uint16_t orientation = 1;
};
TiffKind read_tiff_kind(const std::string& path);

/// Throws InputError that names both files unless `kind`, of a file of the series, is that of the first one.
void require_same_tiff_kind(const TiffKind& kind, const std::string& file, const TiffKind& first,
                            const std::string& first_file, const std::string& series);

TypedVolume read_tiff_typed(const std::string& path);

}  // namespace halocline
