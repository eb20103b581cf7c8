// NRRD: .nrrd, or a .nhdr that names files beside it, some of which are there.
// lines of: apps/images/nrrd_image.cpp apps/images/nrrd_header.cpp apps/images/nrrd_fields.cpp
// lines of: apps/images/nrrd_grid.cpp apps/images/nrrd_data.cpp apps/images/stored_image.cpp
// lines of: apps/images/stored_source.cpp apps/images/gzip_file.cpp
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void nrrd(const std::string& bytes) {
  static const std::string part_0 = file_of("input-0.raw", std::string(32, '\1')),
                           part_1 = file_of("input-1.raw", std::string(32, '\2')),
                           text = file_of("input.txt", "1 2 3 4 5 6 7 8\n");
  const bool apart = bytes.find("input") != std::string::npos;
  const std::string path = file_of(apart ? "header.nhdr" : "input.nrrd", bytes);
  require_as_through_itk(path);
  read_any_image(path);
}
const Registered registered("nrrd", nrrd);

}  // namespace
}  // namespace halocline::fuzz
