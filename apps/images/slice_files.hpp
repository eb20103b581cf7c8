// Volumes that are written as one TIFF file a slice: by a name with a place for the number, such as v_%03d.tif. Other
// formats hold whole volumes; there such a place is that of a frame, which is filled before.
#pragma once

#include <cstddef>
#include <string>

#include "apps/images/image_info.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// True if a volume that is written to `path` becomes a file a slice.
bool names_slice_files(const std::string& path);

/// The name of slice `number`, counted from 0.
std::string slice_file(const std::string& path, std::size_t number);

/// Throws InputError as check_output_path() does for any of `slices` files, and if a file has the very name of the
/// series, which would then be read in its place.
void check_slice_files(const std::string& path, std::size_t slices);

/// Throws InputError for the place of a number in the name of a format that holds whole volumes.
void refuse_number_place(const std::string& path);

#ifdef HALOCLINE_WITH_ITK
/// All files are written under temporary names before the first gets its own. Warns if files of a longer series are
/// left, which would be read with these. Throws FileError.
void write_slice_files(const Grid& grid, const ImageStorage& storage, const void* voxels, const std::string& path);
#endif

}  // namespace halocline
