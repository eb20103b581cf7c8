// The formats that ITK reads and writes: NRRD, NIfTI, TIFF, HDF5, DICOM.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "apps/images/atomic_file.hpp"
#include "apps/images/float_range.hpp"
#include "apps/images/formats_of_itk.hpp"
#include "apps/images/image_format.hpp"
#include "apps/images/itk_dicom.hpp"
#include "apps/images/itk_image.hpp"
#include "apps/images/itk_questions.hpp"
#include "apps/images/new_warning.hpp"
#include "apps/images/slice_files.hpp"
#include "apps/images/stored_image.hpp"
#include "apps/images/tiff_image.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// Warns once a path: some are written again and again.
void warn_of_tiff(const std::string& path) {
  if (is_new_warning("TIFF keeps no grid of " + path))
    spdlog::warn("'{}': TIFF keeps neither origin nor direction nor slice spacing; .mha, .nrrd or .nii keep them",
                 path);
}

// Larger sizes make ITK's writer fail as on a full disk.
void require_sizes(const std::string& path, const Grid& grid) {
  constexpr std::size_t most = 32767;  // a limit of nifti1.h
  if (is_nifti_name(path) && *std::max_element(grid.size.begin(), grid.size.end()) > most)
    throw InputError(
        fmt::format("'{}': NIfTI holds at most {} voxels along an axis, the volume has {}; give .mha or .nrrd", path,
                    most, fmt::join(grid.size, " x ")));
}

void write_through_itk(const Grid& grid, const ImageStorage& storage, const void* voxels, const std::string& path) {
  if (is_tiff_name(path)) warn_of_tiff(path);
  if (names_slice_files(path)) return write_slice_files(grid, storage, voxels, path);
  require_sizes(path, grid);
  TemporaryFile file(path);
  try {
    write_itk_image(grid, storage, voxels, file.temporary_path(), false);
    verify_itk_image(grid, storage, voxels, file.temporary_path());
  } catch (const FileError& error) {
    fail_unwritten(path, std::uint64_t{grid.count()} * component_bytes(storage.component), error.what());
  }
  file.reopen();
  file.commit();
}

// ITK's writers want all voxels at once.
class ItkSink : public ImageSink {
 public:
  ItkSink(std::string path, const Grid& grid, const ImageStorage& storage)
      : path_(std::move(path)), storage_(storage), volume_(grid, storage.component, storage.scaling), sink_(volume_) {}
  const Grid& grid() const override { return volume_.grid; }
  void begin() override { sink_.begin(); }
  void write(std::size_t first, std::size_t count, float* from) override { sink_.write(first, count, from); }
  std::size_t changed() const override { return sink_.changed(); }
  void commit() override { write_through_itk(volume_.grid, storage_, volume_.bytes(), path_); }

 private:
  std::string path_;
  ImageStorage storage_;
  TypedVolume volume_;
  TypedSink sink_;
};

TiffKind tiff_kind_of(const std::string& file) {
  try {
    return read_tiff_kind(file);
  } catch (const UnsupportedImage&) {
    return ask_tiff_kind(file);
  }
}

// The image, where it is read here; nothing where it is left to ITK and libtiff.
std::optional<StoredImage> stored(const std::string& path) {
  try {
    return stored_image(path);
  } catch (const UnsupportedImage& error) {
    spdlog::debug("{}", error.what());
    return {};
  }
}

class ItkFormat : public ImageFormat {
 public:
  const std::vector<std::string>& write_extensions() const override { return itk_write_extensions(); }
  const std::vector<std::string>& read_extensions() const override { return itk_read_extensions(); }
  // DICOM files often have no extension.
  bool reads(const std::string& path) const override {
    return fs::is_directory(path) || ImageFormat::reads(path) || ask_whether_itk_reads(path);
  }

  bool wants_lower_case(const std::string& path) const override { return is_nifti_name(path); }

  ImageInfo info(const std::string& path) const override {
    const auto image = stored(path);
    return image ? image->info : ask_info(path);
  }
  std::unique_ptr<VolumeSource> open(const std::string& path) const override {
    if (const auto image = stored(path)) return open_stored_image(*image, path);
    TypedVolume volume = ask_voxels(path);
    require_float_range(volume, path);
    return std::make_unique<TypedSource>(std::move(volume));
  }

  bool is_read_in_pieces(const std::string& path) const override {
    const auto image = stored(path);
    return image && is_streamed(*image);
  }
  void check_voxels(const std::string& path) const override {
    if (const auto image = stored(path); image && is_streamed(*image)) open_stored_image(*image, path);
  }

  bool reads_folder(const std::string& path) const override {
    return fs::is_directory(path) && ask_whether_dicom(path);
  }
  std::optional<ImageInfo> place_slices(std::vector<std::string>& files, const std::string& series) const override {
    return have_dicom_places(files) ? std::optional(ask_order(files, series)) : std::nullopt;
  }
  void require_one_kind(const std::vector<std::string>& files, const std::string& series) const override {
    require_one_tiff_kind(files, series, tiff_kind_of);
    require_dicom_rescales(files, fmt::format("the DICOM series '{}'", series));
  }

  void check_storage(const std::string& path, const ImageStorage& storage) const override {
    check_itk_storage(path, storage);
  }
  void check_writable(const std::string& path) const override {
    if (names_slice_files(path)) return check_slice_files(path, 1);
    check_output_path(path);
  }
  // Compressed ones may take less.
  void require_room(const std::string& path, const Grid& grid, Component component) const override {
    require_sizes(path, grid);
    const bool many = names_slice_files(path);
    if (many) check_slice_files(path, grid.size[2]);
    if (extension_of(path).ends_with(".gz")) return;
    halocline::require_room(path, std::uint64_t{grid.count()} * component_bytes(component));
    require_allowed_size(path, std::uint64_t{many ? grid.slice() : grid.count()} * component_bytes(component));
  }
  std::unique_ptr<ImageSink> create(const std::string& path, const Grid& grid,
                                    const ImageStorage& storage) const override {
    require_room(path, grid, storage.component);
    ImageStorage kept = storage;
    if (is_nifti_name(path))  // which has float32 for them
      kept.scaling = {static_cast<float>(storage.scaling.slope), static_cast<float>(storage.scaling.offset)};
    return std::make_unique<ItkSink>(path, grid, kept);
  }
  void write(const Volume& volume, const std::string& path, const HeaderNotes& notes) const override {
    write_through_itk(volume.grid, {Component::float32, {}, notes}, volume.voxels.data(), path);
  }
};

}  // namespace

const ImageFormat& itk_format() {
  static const ItkFormat format;
  return format;
}

}  // namespace halocline
