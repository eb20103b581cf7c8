// Baseline TIFF and BigTIFF files of grey values, without compression and in strips.
#pragma once

#include <optional>
#include <string>

#include "apps/images/stored_image.hpp"
#include "apps/images/tiff_stack.hpp"

namespace halocline {

/// One value a pixel: whole numbers of 8, 16, 32 or 64 bits, floating-point ones of 16, 32 or 64, in either byte order,
/// all pages (tiff_stack.hpp); nothing for a file that is no TIFF. Throws UnsupportedImage for all other forms, and
/// where strips are missing or the file ends before them; InputError for stacks of more than three dimensions.
std::optional<StoredImage> tiff_image(const std::string& path);

/// Meaning and order of the values of the first page, for series; throws as well.
TiffKind read_tiff_kind(const std::string& path);

}  // namespace halocline
