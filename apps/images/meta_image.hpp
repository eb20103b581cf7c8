// MetaImage files (.mha, .mhd with .raw or .zraw): the format that is always there, with or without ITK. See
// apps/images/meta_header.hpp for the header.
#pragma once

#include <memory>
#include <string>

#include "apps/images/image_info.hpp"
#include "apps/images/image_sink.hpp"
#include "host/volume/typed_volume.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Reads the header only. Throws InputError that names the file, what was found and what was expected.
ImageInfo read_meta_image_info(const std::string& path);

/// Opens 2D, 3D, or 4D with a last size of 1, of any integer or floating type, either byte order. Voxels that are not
/// compressed are read from the file where they are asked for, and nothing is kept; compressed ones are inflated into a
/// TypedSource. Throws InputError for a missing or wrong data file with the found and the expected bytes; reading
/// throws FileError if the disk fails, and Interrupted.
std::unique_ptr<VolumeSource> open_meta_image(const std::string& path);

/// The file that holds the voxels of a header file; `path` itself if they are local.
std::string meta_image_data_path(const std::string& path);

/// A .mha, or a .mhd with <stem>.raw beside it, into which voxels are converted as they come. Atomic: see
/// apps/images/atomic_file.hpp; reserve(), or else begin(), makes the temporary file.
std::unique_ptr<ImageSink> create_meta_image(const std::string& path, const Grid& grid,
                                             const ImageStorage& storage = {});
/// Joins it from another process: see ImageSink.
std::unique_ptr<ImageSink> join_meta_image(const std::string& path, const Grid& grid, const ImageStorage& storage,
                                           const std::string& temporary);

}  // namespace halocline
