// MetaImage files (.mha, .mhd with .raw or .zraw): the format that is always there, with or without ITK.
//
// Text header of `Key = value` lines, then the voxels in the same file (ElementDataFile = LOCAL) or in another one. The
// rows of TransformMatrix are the index axes in the world, so it is the transpose of Grid::direction. Format:
// https://itk.org/Wiki/ITK/MetaIO/Documentation
#pragma once

#include <optional>
#include <string>

#include "apps/io/image_info.hpp"
#include "host/cutout.hpp"
#include "host/volume.hpp"

namespace halocline {

/// Reads the header only. Throws InputError that names the file, what was found and what was expected.
ImageInfo read_meta_image_info(const std::string& path);

/// Reads 2D, 3D, or 4D with a last size of 1, of any integer or floating type, either byte order, plain or
/// zlib-compressed, piece by piece into float32. Throws InputError for a missing or wrong data file with the found and
/// the expected bytes.
Volume read_meta_image(const std::string& path);

/// Reads a box of voxels, and nothing else of the file. Nothing if the voxels are compressed: they can only be read
/// from their beginning. Throws as read_meta_image does.
std::optional<Volume> read_meta_image_part(const std::string& path, const Cutout& part);

/// The file that holds the voxels of a header file; `path` itself if they are local.
std::string meta_image_data_path(const std::string& path);

/// Writes float32 as .mha, or as .mhd with <stem>.raw (.zraw if compressed) beside it. Atomic: see
/// apps/io/atomic_file.hpp.
void write_meta_image(const Volume& volume, const std::string& path, bool compressed);

}  // namespace halocline
