// MetaImage: .mha, or a .mhd that describes input.raw beside it, which is then asked for by that name.
// lines of: apps/images/meta_header.cpp apps/images/meta_image.cpp apps/images/meta_compressed.cpp
// lines of: apps/images/meta_format.cpp
#include "apps/images/image_file.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void meta_image(const std::string& bytes) {
  static const std::string raw = file_of("input.raw", std::string(64, '\1'));
  const bool apart = bytes.find("input.raw") != std::string::npos;
  const std::string path = file_of(apart ? "input.mhd" : "input.mha", bytes);
  const auto volume = read_any_image(apart ? raw : path);
  if (!volume) return;
  const std::string copy = path_of(apart ? "copy.mhd" : "copy.mha");
  write_image(*volume, copy);
  require(read_image(copy).voxels == volume->voxels, "the copy has other voxels");
}
const Registered registered("meta_image", meta_image);

}  // namespace
}  // namespace halocline::fuzz
