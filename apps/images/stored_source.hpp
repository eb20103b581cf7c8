// Voxels that lie in files as they are, without compression: read from there where they are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/images/image_info.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

/// Bytes of a file that follow each other.
struct StoredPart {
  std::string file;
  std::uint64_t offset = 0, bytes = 0;
};

struct StoredVoxels {
  Grid grid;
  ImageStorage storage = {};
  bool swapped = false;           ///< in the byte order that is not the host's
  std::vector<StoredPart> parts;  ///< the voxels in their order, of as many bytes together as they need

  std::uint64_t byte_count() const { return std::uint64_t{grid.count()} * component_bytes(storage.component); }
};

/// Throws InputError that names the file if one of the parts is missing, no regular file or longer than its file, with
/// the found and the expected bytes. Reading throws FileError if the disk fails, and Interrupted. Nothing is kept.
std::unique_ptr<VolumeSource> open_stored_voxels(StoredVoxels voxels);

/// Reads them all in their own type. Throws as well, and InputError with `path` if they do not fit the host memory.
TypedVolume read_stored_voxels(const StoredVoxels& voxels, const std::string& path);

}  // namespace halocline
