// The text header of MetaImage files: lines of `Key = value`, the last of which names where the voxels are.
//
// The rows of TransformMatrix are the index axes in the world, so it is the transpose of Grid::direction. Format:
// https://itk.org/Wiki/ITK/MetaIO/Documentation. Two things go beyond what every reader takes:
// - ElementToIntensityFunctionSlope and ElementToIntensityFunctionOffset, the format's own fields for value = slope *
//   stored + offset, are applied here; ITK keeps the stored numbers.
// - ElementType = MET_HALF says IEEE binary16, for which the format has no name. ITK refuses it, instead of showing bit
//   patterns as numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "apps/images/image_info.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

constexpr bool host_is_msb = std::endian::native == std::endian::big;

struct MetaHeader {
  Grid grid;
  ImageStorage storage;
  bool msb = false;
  bool compressed = false;
  std::optional<std::uint64_t> compressed_bytes;
  std::int64_t header_size = 0;
  bool local = false;
  std::string data_path;
  std::uint64_t data_offset = 0;  // in data_path
};

/// Throws InputError that names the file, what was found and what was expected.
MetaHeader read_meta_header(const std::string& path);

/// The header of a 3D image in the host's byte order; `data_file` "LOCAL" if the voxels follow it.
std::string meta_header_text(const Grid& grid, const ImageStorage& storage, const std::string& data_file);

}  // namespace halocline
