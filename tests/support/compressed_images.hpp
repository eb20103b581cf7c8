// Compressed image files, which are read but, .nii.gz aside, not written.
#pragma once

#include <fmt/format.h>
#include <zlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "apps/images/image_file.hpp"
#include "apps/images/meta_header.hpp"
#ifdef HALOCLINE_WITH_ITK
#include "apps/images/itk_image.hpp"
#endif

namespace halocline {

/// A .mha of float32.
inline void write_compressed_meta(const Volume& volume, const std::string& path) {
  const auto* voxels = reinterpret_cast<const Bytef*>(volume.voxels.data());
  const uLong bytes = static_cast<uLong>(volume.voxels.size() * sizeof(float));
  uLongf packed = compressBound(bytes);
  std::vector<Bytef> data(packed);
  compress2(data.data(), &packed, voxels, bytes, 2);
  std::string header = meta_header_text(volume.grid, {}, "LOCAL");
  const std::string plain = "CompressedData = False\n";
  header.replace(header.find(plain), plain.size(),
                 fmt::format("CompressedData = True\nCompressedDataSize = {}\n", packed));
  std::ofstream(path, std::ios::binary) << header << std::string(reinterpret_cast<const char*>(data.data()), packed);
}

#ifdef HALOCLINE_WITH_ITK
/// Any format of ITK, of float32.
inline void write_itk_image(const Volume& volume, const std::string& path, bool compressed) {
  write_itk_image(volume.grid, {}, volume.voxels.data(), path, compressed);
}
#endif

}  // namespace halocline
