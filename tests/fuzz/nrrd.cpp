// NRRD: .nrrd, or a .nhdr that names files beside it, some of which are there.
// lines of: apps/images/nrrd_header.cpp apps/images/nrrd_fields.cpp apps/images/nrrd_grid.cpp
// lines of: apps/images/nrrd_data.cpp
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void nrrd(const std::string& bytes) {
  static const std::string part_0 = file_of("input-0.raw", std::string(32, '\1')),
                           part_1 = file_of("input-1.raw", std::string(32, '\2')),
                           text = file_of("input.txt", "1 2 3 4 5 6 7 8\n");
  const bool apart = bytes.find("input") != std::string::npos;
  read_any_image(file_of(apart ? "header.nhdr" : "input.nrrd", bytes));
}
const Registered registered("nrrd", nrrd);

}  // namespace
}  // namespace halocline::fuzz
