// NIfTI and Analyze: one file, gzipped or not, or a header whose voxels are in input.img beside it.
// lines of: apps/images/nifti_image.cpp apps/images/nifti_place.cpp apps/images/nifti_header.cpp
// lines of: apps/images/itk_truncation.cpp
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void nifti(const std::string& bytes) {
  static const std::string voxels = file_of("input.img", std::string(64, '\1'));
  constexpr std::size_t magic = 344, version_1 = 348, version_2 = 540;
  const bool pair = bytes.size() == version_1 || bytes.size() == version_2 ||
                    (bytes.size() > magic + 3 && bytes.compare(magic, 3, "ni1") == 0);
  const std::string path = file_of(bytes.starts_with("\x1f\x8b") ? "input.nii.gz"
                                   : pair                        ? "input.hdr"
                                                                 : "input.nii",
                                   bytes);
  require_as_through_itk(path);
  read_any_image(path);
}
const Registered registered("nifti", nifti);

}  // namespace
}  // namespace halocline::fuzz
