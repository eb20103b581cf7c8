// DICOM: what is read here of its attributes, before GDCM, which is not fuzzed, reads the pixels.
// lines of: apps/images/dicom_data_set.cpp apps/images/dicom_frames.cpp apps/images/dicom_rescale.cpp
#include "apps/images/dicom_frames.hpp"
#include "apps/images/itk_truncation.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void dicom(const std::string& bytes) {
  const std::string path = file_of("input.dcm", bytes);
  if (const auto frames = read_dicom_frames(path))
    require(frames->places.size() <= frames->count || frames->count == 0, "more places than frames");
  require_whole_dicom(path);
}
const Registered registered("dicom", dicom);

}  // namespace
}  // namespace halocline::fuzz
