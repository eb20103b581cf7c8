#include "apps/images/stored_image.hpp"

#include <filesystem>
#include <utility>

#include "apps/images/allocate_volume.hpp"
#include "apps/images/float_range.hpp"
#include "apps/images/gzip_file.hpp"
#include "apps/images/nifti_image.hpp"
#include "apps/images/nrrd_image.hpp"
#include "apps/images/tiff_image.hpp"
#include "host/system/input_file.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {
namespace {

TypedVolume read_unpacked(const StoredImage& image, const std::string& path) {
  const StoredVoxels& voxels = image.voxels;
  TypedVolume volume = allocate_volume(voxels.grid, voxels.storage.component, path, voxels.storage.scaling);
  char* to = reinterpret_cast<char*>(volume.bytes());
  for (const StoredPart& part : voxels.parts) {
    check_input_file(part.file, "'" + part.file + "'");
    read_gzipped(part.file, part.offset, image.skip, to, part.bytes);
    to += part.bytes;
  }
  if (voxels.swapped) swap_bytes(volume.component, volume.bytes(), volume.grid.count());
  return volume;
}

}  // namespace

std::optional<StoredImage> stored_image(const std::string& path) {
  if (std::filesystem::is_directory(path)) return {};
  check_input_file(path, "'" + path + "'");
  std::optional<StoredImage> image;
  for (const auto reader : {nrrd_image, nifti_image, tiff_image})
    if (!image) image = reader(path);
  if (image) check_grid(image->info.grid, "'" + path + "'");
  return image;
}

bool is_streamed(const StoredImage& image) {
  return !image.gzipped && fits_float(image.voxels.storage.component, image.voxels.storage.scaling);
}

std::unique_ptr<VolumeSource> open_stored_image(const StoredImage& image, const std::string& path) {
  if (is_streamed(image)) return open_stored_voxels(image.voxels);
  TypedVolume volume = image.gzipped ? read_unpacked(image, path) : read_stored_voxels(image.voxels, path);
  require_float_range(volume, path);
  return std::make_unique<TypedSource>(std::move(volume));
}

}  // namespace halocline
