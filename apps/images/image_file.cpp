#include "apps/images/image_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <filesystem>
#include <new>
#include <utility>

#include "apps/images/image_format.hpp"
#include "apps/images/slice_files.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/volume/finite_source.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// Extensions of formats in which cameras write, too, and that nothing here reads. An extension that is merely unknown
// says nothing: DICOM files have all kinds of them, or none.
const std::vector<std::string> foreign_extensions{".png", ".jpg", ".jpeg", ".jp2",  ".bmp", ".gif", ".webp",
                                                  ".pgm", ".edf", ".cbf",  ".fits", ".npy", ".csv", ".txt"};

const ImageFormat& require_writable(const std::string& path) {
  const ImageFormat& format = format_to_write(path);
  format.require_available(path, true);
  const std::string extension = extension_of(path);
  if (format.wants_lower_case(path) && !path.ends_with(extension))
    throw InputError(fmt::format("'{}': write the extension {} in lower case", path, extension));
  return format;
}

std::unique_ptr<VolumeSource> open_unchecked(const std::string& path) {
  return format_to_read(path).open(path);
}

}  // namespace

ImageInfo read_image_info(const std::string& path) {
  return format_to_read(path).info(path);
}

void require_same_kind(const std::string& path, const std::string& first, const std::string& series) {
  file_format(path).require_one_kind({first, path}, series);
}

void check_readable_series(const std::string& series) {
  if (fs::is_directory(series)) return itk_format().require_available(series, false);
  const std::string extension = extension_of(series);
  if (holds(foreign_extensions, extension)) refuse_extension(series, false);
  for (const ImageFormat* format : file_formats())
    if (holds(format->write_extensions(), extension) || holds(format->read_extensions(), extension))
      format->require_available(series, false);
}

void warn_of_grid(const ImageInfo& info, const std::string& name, const std::string& remedy) {
  if (!info.format.starts_with("TIFF")) return;
  const Grid& grid = info.grid;
  spdlog::warn(
      "{}: TIFF keeps neither origin nor direction{}; taken for a volume with spacing {:.6g} mm, "
      "origin {:.6g} mm and direction {:g}; {}",
      name, info.format == "TIFF of ImageJ" ? "" : " nor slice spacing", fmt::join(grid.spacing, " x "),
      fmt::join(grid.origin, ", "), fmt::join(grid.direction, " "), remedy);
}

std::unique_ptr<FiniteSource> open_image(const std::string& path, bool allow_nonfinite) {
  return std::make_unique<FiniteSource>(open_unchecked(path), "'" + path + "'", allow_nonfinite);
}

std::unique_ptr<FiniteSource> open_rays(const std::string& path, bool allow_nonfinite) {
  return std::make_unique<FiniteSource>(open_unchecked(path), "'" + path + "'", allow_nonfinite, true);
}

bool is_read_in_pieces(const std::string& path) {
  return format_to_read(path).is_read_in_pieces(path);
}

void check_image_file(const std::string& path) {
  format_to_read(path).check_voxels(path);
}

namespace {

Volume read_unchecked(const std::string& path) {
  const auto source = open_unchecked(path);
  try {
    auto* typed = dynamic_cast<TypedSource*>(source.get());
    return typed != nullptr ? to_volume(typed->take()) : read_volume(*source);
  } catch (const std::bad_alloc&) {
    throw InputError(
        fmt::format("'{}': a volume of {} voxels needs {} bytes of host memory, which are not there; crop it or use a "
                    "larger machine",
                    path, fmt::join(source->grid().size, " x "), source->grid().count() * sizeof(float)));
  }
}

}  // namespace

Volume read_rays(const std::string& path, bool allow_nonfinite) {
  Volume volume = read_unchecked(path);
  require_rays(MemorySource(volume), "'" + path + "'", allow_nonfinite);
  return volume;
}

Volume read_image(const std::string& path, bool allow_nonfinite, std::size_t* replaced) {
  Volume volume = read_unchecked(path);
  if (!allow_nonfinite) {
    require_finite(volume, "'" + path + "'");
    return volume;
  }
  std::size_t count = 0;
  for (float& value : volume.voxels) {
    if (std::isfinite(value)) continue;
    value = 0;
    ++count;
  }
  if (replaced != nullptr) *replaced = count;
  return volume;
}

Volume read_image_part(const std::string& path, const Cutout& part, bool allow_nonfinite, std::size_t* replaced) {
  const auto image = open_image(path, allow_nonfinite);
  Volume volume = cut_out(*image, part);
  if (replaced != nullptr) *replaced = *image->replaced();
  return volume;
}

bool is_streamable(const std::string& path) {
  const ImageFormat* const format = find_format_to_write(path);
  return format != nullptr && format->is_streamable();
}

void check_storage(const std::string& path, const ImageStorage& storage) {
  if (const ImageFormat* const format = find_format_to_write(path)) format->check_storage(path, storage);
}

std::unique_ptr<ImageSink> create_image(const std::string& path, const Grid& grid, const ImageStorage& storage) {
  const ImageFormat& format = require_writable(path);
  check_grid(grid, "the volume for '" + path + "'");
  format.check_storage(path, storage);
  return format.create(path, grid, storage);
}

std::unique_ptr<ImageSink> join_image(const std::string& path, const Grid& grid, const ImageStorage& storage,
                                      const std::string& temporary) {
  auto image = format_to_write(path).join(path, grid, storage, temporary);
  if (!image)
    throw InputError(
        fmt::format("'{}': several ranks write MetaImage alone; give a name that ends in .mha, .mhd or .raw", path));
  return image;
}

ReservedImage::ReservedImage(std::string path, const Grid& grid, const ImageStorage& storage)
    : path_(std::move(path)), grid_(grid), storage_(storage) {
  const ImageFormat& format = require_writable(path_);
  if (format.is_streamable()) {
    image_ = create_image(path_, grid_, storage_);
    image_->reserve();
    return;
  }
  format.check_storage(path_, storage_);
  format.require_room(path_, grid_, storage_.component);
}

std::size_t ReservedImage::write(const Volume& volume) {
  if (!image_ && storage_.component == Component::float32 &&
      storage_.scaling.identity()) {  // as it is: no copy is needed
    write_image(volume, path_, storage_.notes);
    return 0;
  }
  const auto image = image_ ? std::move(image_) : create_image(path_, grid_, storage_);
  image->begin();
  copy_voxels(MemorySource(volume), *image);
  check_interrupt();
  image->commit();
  return image->changed();
}

void write_image(const Volume& volume, const std::string& path, const HeaderNotes& notes) {
  const ImageFormat& format = require_writable(path);
  check_grid(volume.grid, "the volume for '" + path + "'");
  if (volume.voxels.size() != volume.grid.count())
    throw InputError(fmt::format("the volume for '{}' has {} values, its grid of {} needs {}", path,
                                 volume.voxels.size(), fmt::join(volume.grid.size, " x "), volume.grid.count()));
  format.write(volume, path, notes);
}

void check_writable(const std::string& path) {
  const ImageFormat& format = require_writable(path);
  if (&format != &memory_format()) refuse_number_place(path);
  format.check_writable(path);
}

bool was_written(const std::string& path, std::size_t slices) {
  const ImageFormat* const format = find_format_to_write(path);
  return format != nullptr && format->was_written(path, slices);
}

}  // namespace halocline
