// Images in formats that are read without ITK and without the libraries behind it: NRRD, NIfTI and baseline TIFF.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/images/image_info.hpp"
#include "apps/images/stored_source.hpp"
#include "host/system/error.hpp"

namespace halocline {

/// A form of a known format that is not read here, such as a compression: ITK and libtiff may read it. The message
/// names the file, what it has, and a remedy.
class UnsupportedImage : public InputError {
 public:
  using InputError::InputError;
};

/// An image whose voxels lie in files as they are, or behind gzip.
struct StoredImage {
  ImageInfo info;
  StoredVoxels voxels;
  bool gzipped = false;    ///< parts are gzip streams: their `bytes` are those of the unpacked voxels
  std::uint64_t skip = 0;  ///< unpacked bytes before the voxels of each part
};

/// The image of a NRRD, NIfTI or TIFF file; nothing for other files. Throws UnsupportedImage, and InputError for files
/// that are damaged.
std::optional<StoredImage> stored_image(const std::string& path);

/// True if open_stored_image() leaves the voxels in the file.
bool is_streamed(const StoredImage& image);

/// Its values. Throws InputError for files that are too short, for voxels that do not fit the host memory, and for
/// values beyond float32. `path` is for messages.
std::unique_ptr<VolumeSource> open_stored_image(const StoredImage& image, const std::string& path);

}  // namespace halocline
