// The pages of TIFF files, of which ITK takes the first for all.
#pragma once

#include <string>

namespace halocline {

/// Throws InputError if the chain of pages of a TIFF or BigTIFF file leads beyond the end of the file, where ITK loses
/// the last ones; if pages that ITK reads differ in width, height, bits or kind of number; or if kinds of pages
/// (NewSubfileType: previews, masks) are mixed such that ITK has no room for all that it reads. Layout: TIFF 6.0
/// (Adobe, 1992), section 2, and its BigTIFF extension. Anything that is no such file is left to the reader.
void check_tiff_pages(const std::string& path);

}  // namespace halocline
