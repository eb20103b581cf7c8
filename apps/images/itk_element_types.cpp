#include "apps/images/itk_element_types.hpp"

#include <fmt/format.h>
#include <itkMetaDataObject.h>
#include <itk_H5Cpp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "apps/images/nifti_header.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// The text without the padding that makes the length even.
std::string tag_text(const itk::ImageIOBase& io, const char* tag) {
  std::string text;
  itk::ExposeMetaData<std::string>(io.GetMetaDataDictionary(), tag, text);
  text.erase(text.find_last_not_of(std::string(" \0", 2)) + 1);
  return text.substr(std::min(text.size(), text.find_first_not_of(' ')));
}

std::string bytes_at(const std::string& path, std::size_t place, std::size_t count) {
  std::string bytes(count, '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(place));
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  return bytes;
}

// By the transfer syntax, which stands at the beginning.
bool is_big_endian_dicom(const std::string& path) {
  return bytes_at(path, 132, 1024).find(std::string("1.2.840.10008.1.2.2\0", 20)) != std::string::npos;
}

// Throws unless the values are what the readers of ITK's class have names for.
void require_native(const H5::DataSet& voxels, const std::string& path) {
  const H5::DataType type = voxels.getDataType();
  const bool whole = type.getClass() == H5T_INTEGER, real = type.getClass() == H5T_FLOAT;
  std::string found = whole ? "whole numbers" : real ? "floating-point numbers" : "values that are no numbers";
  const std::size_t bytes = type.getSize();
  found += fmt::format(" of {} bytes", bytes);
  bool known =
      (whole && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) || (real && (bytes == 4 || bytes == 8));
  if ((whole || real) && bytes > 1 && H5Tget_order(type.getId()) != H5Tget_order(H5T_NATIVE_INT)) {
    found += " in the other byte order than this computer's";
    known = false;
  }
  if (!known)
    throw InputError(
        fmt::format("'{}': /ITKImage/0/VoxelData holds {}; whole numbers of 1, 2, 4 or 8 bytes and "
                    "floating-point ones of 4 or 8 in this computer's order can be read: store it so, or as .mha",
                    path, found));
}

// Throws unless this build can undo what was done to the chunks.
void require_filters(const H5::DataSet& voxels, const std::string& path) {
  const H5::DSetCreatPropList settings = voxels.getCreatePlist();
  for (int n = 0; n < settings.getNfilters(); ++n) {
    unsigned flags = 0, configuration = 0;
    std::size_t values = 0;
    char name[64] = "";
    const H5Z_filter_t filter = settings.getFilter(n, flags, values, nullptr, sizeof name, name, configuration);
    if (H5Zfilter_avail(filter) <= 0)
      throw InputError(
          fmt::format("'{}': /ITKImage/0/VoxelData is packed by the filter {} ({}), which HDF5 does not have here; "
                      "pack it by gzip, or store it as .mha",
                      path, filter, name));
  }
}

}  // namespace

void refuse_unknown_file(const std::string& path) {
  if (bytes_at(path, 128, 4) == "DICM")
    throw InputError(
        fmt::format("'{}' is DICOM, but holds no image that can be read: whole numbers of 8, 16 or 32 bits "
                    "as PixelData are expected, no Float Pixel Data, no 64 bits; convert it to .mha",
                    path));
  if (const auto header = read_nifti_header(path); header && header->version == 2)
    throw InputError(
        fmt::format("'{}' is NIfTI-2, which is not read here: convert it to NIfTI-1, .nrrd or .mha", path));
  throw InputError(fmt::format("'{}' is in none of the known formats, or it is damaged at its beginning", path));
}

void check_dicom_pixels(const itk::ImageIOBase& io, const std::string& path) {
  if (std::strcmp(io.GetNameOfClass(), "GDCMImageIO") != 0) return;
  const auto refuse = [&](const std::string& what) {
    throw InputError(fmt::format("'{}' {}; convert it to grey values in .mha, .nrrd or usual DICOM", path, what));
  };
  const std::string photometric = tag_text(io, "0028|0004"), allocated = tag_text(io, "0028|0100"),
                    stored = tag_text(io, "0028|0101"), high = tag_text(io, "0028|0102");
  if (photometric == "MONOCHROME1")
    refuse(
        "has the photometric interpretation MONOCHROME1, where 0 is white: its values would be turned over; "
        "MONOCHROME2 is read");
  if (photometric == "PALETTE COLOR") refuse("has a palette of colours; grey values (MONOCHROME2) are read");
  if (allocated == "64") refuse("has pixels of 64 bits; 8, 16 and 32 are read");
  if (!stored.empty() && !high.empty() && std::atoi(high.c_str()) != std::atoi(stored.c_str()) - 1)
    refuse(fmt::format("stores {} bits a pixel up to bit {}; they are read up to bit {} only", stored, high,
                       std::atoi(stored.c_str()) - 1));
  if (allocated == "32" && is_big_endian_dicom(path))
    refuse("has pixels of 32 bits in big-endian order, whose words readers order in two ways; little-endian is read");
}

void check_hdf5_type(const std::string& path) {
  if (bytes_at(path, 0, 8) != "\x89HDF\r\n\x1a\n") return;
  H5::Exception::dontPrint();
  const char* const name = "/ITKImage/0/VoxelData";
  try {
    const H5::H5File file(path, H5F_ACC_RDONLY);
    if (!file.nameExists("/ITKImage") || !file.nameExists("/ITKImage/0") || !file.nameExists(name)) return;
    const H5::DataSet voxels = file.openDataSet(name);
    require_native(voxels, path);
    require_filters(voxels, path);
  } catch (const H5::Exception&) {
    // its header is read, and refused, by ITK
  }
}

}  // namespace halocline
