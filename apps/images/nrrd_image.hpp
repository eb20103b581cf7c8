// NRRD files, attached and detached, with raw and gzipped values.
#pragma once

#include <optional>
#include <string>

#include "apps/images/stored_image.hpp"

namespace halocline {

/// Two or three axes in space; nothing for a file that is no NRRD. Throws UnsupportedImage for the encodings ascii and
/// hex, for axes of other kinds and for lists of files with several slices each; InputError for what is damaged.
std::optional<StoredImage> nrrd_image(const std::string& path);

}  // namespace halocline
