#include <fmt/format.h>
#include <itk_H5Cpp.h>
#include <itk_hdf5.h>

#include <cmath>
#include <numbers>

#include "apps/io/hdf5_angles.hpp"
#include "host/captured_stderr.hpp"
#include "host/error.hpp"
#include "host/input_file.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_views = 10000000;

bool in_radians(const H5::DataSet& theta) {
  if (!theta.attrExists("units")) return false;
  const H5::Attribute attribute = theta.openAttribute("units");
  if (attribute.getTypeClass() != H5T_STRING) return false;
  std::string units;
  attribute.read(attribute.getStrType(), units);
  return units.find("rad") != std::string::npos;
}

}  // namespace

std::vector<double> read_hdf5_angles(const std::string& path) {
  check_input_file(path, fmt::format("'{}'", path));
  const CapturedStderr captured("HDF5");
  H5::Exception::dontPrint();
  try {
    const H5::H5File file(path, H5F_ACC_RDONLY);
    const H5::DataSet theta = file.openDataSet("/exchange/theta");
    const H5::DataSpace space = theta.getSpace();
    const auto count = static_cast<std::size_t>(space.getSimpleExtentNpoints());
    if (space.getSimpleExtentNdims() != 1 || count == 0)
      throw InputError(
          fmt::format("{}: /exchange/theta has {} dimensions and {} numbers; one angle a view in a row is expected",
                      path, space.getSimpleExtentNdims(), count));
    if (count > most_views)
      throw InputError(
          fmt::format("{}: /exchange/theta has {} numbers; no more than {} are expected", path, count, most_views));
    std::vector<double> angles(count);
    theta.read(angles.data(), H5::PredType::NATIVE_DOUBLE);
    if (in_radians(theta))
      for (double& angle : angles) angle *= 180 / std::numbers::pi;
    return angles;
  } catch (const H5::Exception& error) {
    throw InputError(
        fmt::format("{}: /exchange/theta cannot be read ({}); a Data Exchange file (HDF5) with one angle in "
                    "degrees a view is expected, or write the angles to a text file and use `CircularOptions::angles`",
                    path, error.getDetailMsg()));
  }
}

}  // namespace halocline
