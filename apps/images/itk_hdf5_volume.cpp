#include "apps/images/itk_hdf5_volume.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <itk_H5Cpp.h>
#include <itk_hdf5.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <numeric>
#include <vector>

#include "apps/images/new_warning.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr hsize_t most_dimensions = 32;
constexpr const char* volume_remedy = "write the file again, or give the volume as .mha";

class Hdf5Volume {
 public:
  Hdf5Volume(const H5::H5File& file, const std::string& path) : path_(path), file_(file) {}

  void check() const {
    for (const char* part : {"Dimension", "Directions", "Origin", "Spacing", "VoxelData"})
      if (!file_.nameExists(name(part))) refuse(fmt::format("{} is missing", name(part)));
    const H5::DataSet voxels = file_.openDataSet(name("VoxelData"));
    require_written(voxels);
    const auto size = dimension();
    require_count("Origin", size.size(), size.size());
    require_count("Spacing", size.size(), size.size());
    require_count("Directions", size.size() * size.size(), size.size());
    require_shape(voxels, size);
    if (const auto images = file_.openGroup("/ITKImage").getNumObjs(); images > 1) warn_of_others(images);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(fmt::format("'{}': {}; {}", path_, what, volume_remedy));
  }
  static std::string name(const char* part) { return std::string("/ITKImage/0/") + part; }

  static std::vector<hsize_t> extent(const H5::DataSet& data) {
    std::vector<hsize_t> out(static_cast<std::size_t>(std::max(data.getSpace().getSimpleExtentNdims(), 0)));
    if (!out.empty()) data.getSpace().getSimpleExtentDims(out.data());
    return out;
  }
  static hsize_t product(const std::vector<hsize_t>& size) {
    return std::accumulate(size.begin(), size.end(), hsize_t{1}, std::multiplies<>());
  }

  // The fastest axis first.
  std::vector<unsigned long long> dimension() const {
    const H5::DataSet data = file_.openDataSet(name("Dimension"));
    const hsize_t count = product(extent(data));
    if (data.getTypeClass() != H5T_INTEGER || count < 1 || count > most_dimensions)
      refuse(fmt::format("{} is no list of whole numbers, one for each of 1 to {} axes", name("Dimension"),
                         most_dimensions));
    std::vector<unsigned long long> size(static_cast<std::size_t>(count));
    data.read(size.data(), H5::PredType::NATIVE_ULLONG);
    return size;
  }

  void require_count(const char* part, std::size_t expected, std::size_t axes) const {
    const H5::DataSet data = file_.openDataSet(name(part));
    const hsize_t found = product(extent(data));
    const bool numbers = data.getTypeClass() == H5T_INTEGER || data.getTypeClass() == H5T_FLOAT;
    if (!numbers || found != expected)
      refuse(fmt::format("{} has {} {}, but the {} axes of {} need {} numbers", name(part), found,
                         numbers ? "numbers" : "values that are no numbers", axes, name("Dimension"), expected));
  }

  // The last of the extent is the number of values a voxel if there are several.
  void require_shape(const H5::DataSet& voxels, const std::vector<unsigned long long>& size) const {
    std::vector<hsize_t> found = extent(voxels);
    const std::vector<hsize_t> all(found.rbegin(), found.rend());
    if (found.size() == size.size() + 1) found.pop_back();
    if (std::equal(found.rbegin(), found.rend(), size.begin(), size.end())) return;
    refuse(fmt::format("{} says {} voxels, but {} holds {} (the fastest axis first)", name("Dimension"),
                       fmt::join(size, " x "), name("VoxelData"), fmt::join(all, " x ")));
  }

  void require_written(const H5::DataSet& voxels) const {
    const H5::DSetCreatPropList settings = voxels.getCreatePlist();
    const H5D_layout_t layout = settings.getLayout();
    if (layout == H5D_VIRTUAL || settings.getExternalCount() > 0)
      refuse(fmt::format("the values of {} lie in other files, of which what is missing would be read as zeros",
                         name("VoxelData")));
    const std::vector<hsize_t> size = extent(voxels);
    if (layout == H5D_CHUNKED) {
      std::vector<hsize_t> chunk(size.size());
      settings.getChunk(static_cast<int>(chunk.size()), chunk.data());
      hsize_t needed = 1, written = 0;
      for (std::size_t axis = 0; axis < size.size(); ++axis) needed *= (size[axis] + chunk[axis] - 1) / chunk[axis];
      if (H5Dget_num_chunks(voxels.getId(), voxels.getSpace().getId(), &written) >= 0 && written < needed)
        refuse(fmt::format("only {} of the {} chunks of {} were written; the others would be read as zeros", written,
                           needed, name("VoxelData")));
      return;
    }
    const hsize_t stored = voxels.getStorageSize(), needed = product(size) * voxels.getDataType().getSize();
    if (stored < needed)
      refuse(fmt::format("{} has {} bytes of values, its shape needs {}; the others would be read as zeros",
                         name("VoxelData"), stored, needed));
  }

  void warn_of_others(hsize_t images) const {
    if (is_new_warning("further images in " + path_))
      spdlog::warn("'{}' holds {} images; only the first, /ITKImage/0, is read", path_, images);
  }

  const std::string& path_;
  const H5::H5File& file_;
};

bool begins_as_hdf5(const std::string& path) {
  char first[8] = {};
  std::ifstream(path, std::ios::binary).read(first, sizeof first);
  return std::string(first, sizeof first) == "\x89HDF\r\n\x1a\n";
}

}  // namespace

void check_hdf5_volume(const std::string& path) {
  if (!begins_as_hdf5(path)) return;
  H5::Exception::dontPrint();
  try {
    const H5::H5File file(path, H5F_ACC_RDONLY);
    if (file.nameExists("/ITKImage") && file.nameExists("/ITKImage/0")) Hdf5Volume(file, path).check();
  } catch (const H5::Exception&) {
    // its header is read, and refused, by ITK
  }
}

}  // namespace halocline
