// An image file that all ranks write, each its own voxels.
#pragma once

#include <memory>
#include <string>

#include "apps/images/image_info.hpp"
#include "apps/images/image_sink.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// create_image() for several ranks, which call it, reserve(), begin() and commit() together. The file is there, whole,
/// when commit() returns on any of them. Throws InputError for formats other than MetaImage.
std::unique_ptr<ImageSink> create_shared_image(const std::string& path, const Grid& grid, const ImageStorage& storage,
                                               Ranks& ranks);

}  // namespace halocline
