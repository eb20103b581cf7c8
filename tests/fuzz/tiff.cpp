// TIFF and BigTIFF, alone and as a file of a series.
// lines of: apps/images/tiff_image.cpp apps/images/tiff_stack.cpp apps/images/tiff_directory.cpp
// lines of: apps/images/tiff_imagej.cpp apps/images/libtiff_image.cpp apps/images/libtiff_pages.cpp
#include "apps/images/image_file.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void tiff(const std::string& bytes) {
  const std::string path = file_of("input.tif", bytes);
  require_same_kind(path, path, "input");
  require_as_through_itk(path);
  read_any_image(path);
}
const Registered registered("tiff", tiff);

}  // namespace
}  // namespace halocline::fuzz
