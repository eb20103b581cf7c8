// HDF5: the angles of Data Exchange and NeXus files, and ITK's volumes.
// lines of: apps/images/itk_hdf5_angles.cpp apps/images/itk_hdf5_volume.cpp
#include "apps/images/hdf5_angles.hpp"
#include "host/system/error.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void hdf5(const std::string& bytes) {
  const std::string path = file_of("input.h5", bytes);
  try {
    require(!read_hdf5_angles(path).empty(), "no angles");
  } catch (const Error&) {
  }
  read_any_image(path);
}
const Registered registered("hdf5", hdf5);

}  // namespace
}  // namespace halocline::fuzz
