#include "apps/images/image_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <new>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/images/atomic_file.hpp"
#include "apps/images/float_range.hpp"
#include "apps/images/image_series.hpp"
#include "apps/images/memory_files.hpp"
#include "apps/images/meta_header.hpp"
#include "apps/images/meta_image.hpp"
#include "apps/images/slice_files.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/interrupt.hpp"
#include "host/volume/finite_source.hpp"
#include "host/volume/typed_volume.hpp"
#ifdef HALOCLINE_WITH_ITK
#include "apps/images/itk_image.hpp"
#include "apps/images/itk_series.hpp"
#endif

namespace halocline {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> meta_extensions{".mha", ".mhd", ".raw"};
const std::vector<std::string> itk_write_extensions{".nrrd", ".nii", ".nii.gz", ".tif", ".tiff"};
const std::vector<std::string> itk_read_extensions{".nhdr", ".hdr", ".img", ".img.gz", ".dcm", ".h5", ".hdf5"};
// Of formats in which cameras write, too, and that nothing here reads. An extension that is merely unknown tells
// nothing: DICOM files have all kinds of them, or none.
const std::vector<std::string> foreign_extensions{".png", ".jpg", ".jpeg", ".jp2",  ".bmp", ".gif", ".webp",
                                                  ".pgm", ".edf", ".cbf",  ".fits", ".npy", ".csv", ".txt"};

bool holds(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// In lower case; ".nii.gz" is one extension.
std::string extension_of(const std::string& path) {
  const fs::path name = fs::path(path).filename();
  std::string extension = name.extension().string();
  if (extension == ".gz" || extension == ".GZ") extension = name.stem().extension().string() + extension;
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension;
}

std::string sidecar_of(const std::string& raw) {
  for (const char* extension : {".mhd", ".MHD"}) {
    const std::string header = fs::path(raw).replace_extension(extension).string();
    if (fs::exists(header)) return header;
  }
  return fs::path(raw).replace_extension(".mhd").string();
}

// The header file to read for a .raw file.
std::string require_sidecar(const std::string& raw) {
  const std::string header = sidecar_of(raw);
  if (!fs::exists(header))
    throw InputError(
        fmt::format("'{}' says neither size nor type of its voxels: '{}' is expected beside it, a MetaImage header "
                    "with DimSize, ElementSpacing, ElementType and ElementDataFile = {}",
                    raw, header, fs::path(raw).filename().string()));
  const std::string data = meta_image_data_path(header);
  std::error_code code;
  if (!fs::equivalent(data, raw, code))
    throw InputError(
        fmt::format("'{}' lies beside '{}', which describes another file, '{}'; name the header that belongs to it",
                    raw, header, data));
  return header;
}

[[noreturn]] void refuse_extension(const std::string& path, bool writing) {
  std::vector<std::string> known = meta_extensions;
  known.insert(known.end(), itk_write_extensions.begin(), itk_write_extensions.end());
  if (!writing) known.insert(known.end(), itk_read_extensions.begin(), itk_read_extensions.end());
  throw InputError(
      fmt::format("'{}': the extension '{}' is no image format that can be {}; known: {}{}", path, extension_of(path),
                  writing ? "written" : "read", fmt::join(known, " "),
                  writing ? "" : ", a folder with a DICOM series or TIFF files, or a pattern such as 'proj*.tif'"));
}

#ifndef HALOCLINE_WITH_ITK
[[noreturn]] void refuse_without_itk(const std::string& path) {
  throw InputError(
      fmt::format("'{}': this build of Halocline has no ITK, which this format needs; install ITK "
                  "(libinsighttoolkit5-dev) and rebuild with -DHALOCLINE_WITH_ITK=ON, or convert the image to .mha",
                  path));
}
#endif

enum class Reader { meta, raw, itk };

// What `path` names if it is a series; a folder with DICOM files is not, these are read together.
std::vector<std::string> slices_of(const std::string& path) {
  auto files = series_files(path);
#ifdef HALOCLINE_WITH_ITK
  if (files.empty()) files = tiff_files(path);
  if (!files.empty() && fs::is_directory(path) && itk_holds_dicom(path)) return {};
#else
  if (!files.empty()) refuse_without_itk(path);
#endif
  return files;
}

Reader reader_of(const std::string& path) {
  check_input(path, "'" + path + "'");
  const bool folder = fs::is_directory(path);
  const std::string extension = extension_of(path);
  if (!folder && extension == ".raw") return Reader::raw;
  if (!folder && (extension == ".mha" || extension == ".mhd")) return Reader::meta;
  const bool known = folder || holds(itk_write_extensions, extension) || holds(itk_read_extensions, extension);
#ifdef HALOCLINE_WITH_ITK
  if (!known && !itk_can_read(path)) refuse_extension(path, false);  // DICOM files often have no extension
  return Reader::itk;
#else
  if (!known) refuse_extension(path, false);
  refuse_without_itk(path);
#endif
}

void require_writable_extension(const std::string& path) {
  const std::string extension = extension_of(path);
  if (extension == ".raw" && fs::path(path).extension() != extension)
    throw InputError(fmt::format("'{}': write the extension .raw in lower case", path));
  if (holds(meta_extensions, extension)) return;
  if (!holds(itk_write_extensions, extension)) refuse_extension(path, true);
#ifndef HALOCLINE_WITH_ITK
  refuse_without_itk(path);
#endif
}

#ifdef HALOCLINE_WITH_ITK
// Once a path: some are written again and again.
void warn_of_tiff(const std::string& path) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  if (warned.insert(path).second)
    spdlog::warn("'{}': TIFF keeps neither origin nor direction nor slice spacing; .mha, .nrrd or .nii keep them",
                 path);
}

// Beyond which ITK's writer fails as on a full disk.
void require_sizes(const std::string& path, const Grid& grid) {
  constexpr std::size_t most = 32767;  // of nifti1.h
  const std::string extension = extension_of(path);
  if ((extension == ".nii" || extension == ".nii.gz") && *std::max_element(grid.size.begin(), grid.size.end()) > most)
    throw InputError(
        fmt::format("'{}': NIfTI holds at most {} voxels along an axis, the volume has {}; give .mha or .nrrd", path,
                    most, fmt::join(grid.size, " x ")));
}

void write_through_itk(const Grid& grid, const ImageStorage& storage, const void* voxels, const std::string& path,
                       bool compressed) {
  const std::string extension = extension_of(path);
  if (extension == ".tif" || extension == ".tiff") warn_of_tiff(path);
  if (names_slice_files(path)) return write_slice_files(grid, storage, voxels, path);
  require_sizes(path, grid);
  TemporaryFile file(path);
  try {
    write_itk_image(grid, storage, voxels, file.temporary_path(), compressed);
    verify_itk_image(grid, storage, voxels, file.temporary_path(), compressed);
  } catch (const FileError& error) {
    fail_unwritten(path, std::uint64_t{grid.count()} * component_bytes(storage.component), error.what());
  }
  file.reopen();
  file.commit();
}

// Compressed ones may take less.
void require_room_of(const std::string& path, const Grid& grid, Component component) {
  require_sizes(path, grid);
  const bool many = names_slice_files(path);
  if (many) check_slice_files(path, grid.size[2]);
  if (extension_of(path).ends_with(".gz")) return;
  require_room(path, std::uint64_t{grid.count()} * component_bytes(component));
  require_allowed_size(path, std::uint64_t{many ? grid.slice() : grid.count()} * component_bytes(component));
}

std::unique_ptr<VolumeSource> open_through_itk(const std::string& path) {
  TypedVolume volume = read_itk_typed(path);
  require_float_range(volume, path);
  return std::make_unique<TypedSource>(std::move(volume));
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
  void commit() override { write_through_itk(volume_.grid, storage_, volume_.bytes(), path_, false); }

 private:
  std::string path_;
  ImageStorage storage_;
  TypedVolume volume_;
  TypedSink sink_;
};
#endif

// Without a look at the values.
std::unique_ptr<VolumeSource> open_unchecked(const std::string& path) {
  if (is_in_memory(path)) return memory_files().open(name_in_memory(path));
  [[maybe_unused]] auto slices = slices_of(path);
#ifdef HALOCLINE_WITH_ITK
  if (!slices.empty()) return open_itk_series(std::move(slices), path);
#endif
  switch (reader_of(path)) {
    case Reader::raw:
      return open_meta_image(require_sidecar(path));
    case Reader::meta:
      return open_meta_image(path);
    default:
#ifdef HALOCLINE_WITH_ITK
      return open_through_itk(path);
#else
      refuse_without_itk(path);
#endif
  }
}

}  // namespace

ImageInfo read_image_info(const std::string& path) {
  if (is_in_memory(path)) return memory_files().info(name_in_memory(path));
  [[maybe_unused]] const auto slices = slices_of(path);
#ifdef HALOCLINE_WITH_ITK
  if (!slices.empty()) return read_itk_series_info(slices, path);
#endif
  switch (reader_of(path)) {
    case Reader::raw:
      return read_meta_image_info(require_sidecar(path));
    case Reader::meta:
      return read_meta_image_info(path);
    default:
#ifdef HALOCLINE_WITH_ITK
      return read_itk_image_info(path);
#else
      refuse_without_itk(path);
#endif
  }
}

void require_same_kind([[maybe_unused]] const std::string& path, [[maybe_unused]] const std::string& first,
                       [[maybe_unused]] const std::string& series) {
#ifdef HALOCLINE_WITH_ITK
  if (!is_in_memory(path) && reader_of(path) == Reader::itk) require_same_itk_kind(path, first, series);
#endif
}

void check_readable_series(const std::string& series) {
  if (fs::is_directory(series)) {
#ifndef HALOCLINE_WITH_ITK
    refuse_without_itk(series);
#endif
    return;
  }
  const std::string extension = extension_of(series);
  if (holds(foreign_extensions, extension)) refuse_extension(series, false);
#ifndef HALOCLINE_WITH_ITK
  if (holds(itk_write_extensions, extension) || holds(itk_read_extensions, extension)) refuse_without_itk(series);
#endif
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
  if (is_in_memory(path)) return true;
  if (!slices_of(path).empty()) return true;
  const Reader reader = reader_of(path);
  if (reader == Reader::itk) return false;
  return !read_meta_header(reader == Reader::raw ? require_sidecar(path) : path).compressed;
}

void check_image_file(const std::string& path) {
  if (is_in_memory(path)) return;
  if (!slices_of(path).empty()) return;
  const Reader reader = reader_of(path);
  if (reader == Reader::itk) return;
  const std::string header = reader == Reader::raw ? require_sidecar(path) : path;
  if (!read_meta_header(header).compressed) open_meta_image(header);
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
  return is_in_memory(path) || holds(meta_extensions, extension_of(path));
}

// NIfTI: slope and offset are float32 there, and go with whole numbers.
bool keeps_float_scaling(const std::string& path) {
  const std::string extension = extension_of(path);
  return extension == ".nii" || extension == ".nii.gz";
}

void check_storage(const std::string& path, const ImageStorage& storage) {
  if (is_in_memory(path)) return;
  const std::string extension = extension_of(path), type = component_name(storage.component);
  if (holds(meta_extensions, extension)) return;
  if (storage.component == Component::float16)
    throw InputError(fmt::format("'{}': this format has no float16; give .mha, .mhd or .raw", path));
  if (!storage.scaling.identity() && !(keeps_float_scaling(path) && is_integer(storage.component)))
    throw InputError(fmt::format(
        "'{}': slope and offset of scaled values are kept in .mha, .mhd and .raw, and with whole numbers in "
        ".nii and .nii.gz; give one of those, or another type of voxels",
        path));
  const bool tiff = extension == ".tif" || extension == ".tiff";
  if (tiff && component_bytes(storage.component) > 2 && storage.component != Component::float32)
    throw InputError(fmt::format("'{}': TIFF files are written with uint8, int8, uint16, int16 or float32, not with {}",
                                 path, type));
}

std::unique_ptr<ImageSink> create_image(const std::string& path, const Grid& grid, const ImageStorage& storage) {
  if (is_in_memory(path)) return memory_files().create(name_in_memory(path), grid, storage);
  require_writable_extension(path);
  check_grid(grid, "the volume for '" + path + "'");
  check_storage(path, storage);
  const std::string extension = extension_of(path);
  if (extension == ".raw") return create_meta_image(sidecar_of(path), grid, storage);  // makes both files
  if (holds(meta_extensions, extension)) return create_meta_image(path, grid, storage);
#ifdef HALOCLINE_WITH_ITK
  require_room_of(path, grid, storage.component);
  ImageStorage kept = storage;
  if (keeps_float_scaling(path))
    kept.scaling = {static_cast<float>(storage.scaling.slope), static_cast<float>(storage.scaling.offset)};
  return std::make_unique<ItkSink>(path, grid, kept);
#else
  refuse_without_itk(path);
#endif
}

ReservedImage::ReservedImage(std::string path, const Grid& grid, const ImageStorage& storage)
    : path_(std::move(path)), grid_(grid), storage_(storage) {
  if (is_streamable(path_)) {
    image_ = create_image(path_, grid_, storage_);
    image_->reserve();
    return;
  }
  require_writable_extension(path_);
  check_storage(path_, storage_);
#ifdef HALOCLINE_WITH_ITK
  require_room_of(path_, grid_, storage_.component);
#endif
}

std::size_t ReservedImage::write(const Volume& volume) {
  if (!image_ && storage_.component == Component::float32 &&
      storage_.scaling.identity()) {  // as it is: no copy is needed
    write_image(volume, path_, false, storage_.notes);
    return 0;
  }
  const auto image = image_ ? std::move(image_) : create_image(path_, grid_, storage_);
  image->begin();
  copy_voxels(MemorySource(volume), *image);
  check_interrupt();
  image->commit();
  return image->changed();
}

void write_image(const Volume& volume, const std::string& path, bool compressed,
                 [[maybe_unused]] const HeaderNotes& notes) {
  if (is_in_memory(path)) {
    const auto image = create_image(path, volume.grid, {});
    image->begin();
    copy_voxels(MemorySource(volume), *image);
    return image->commit();
  }
  require_writable_extension(path);
  check_grid(volume.grid, "the volume for '" + path + "'");
  if (volume.voxels.size() != volume.grid.count())
    throw InputError(fmt::format("the volume for '{}' has {} values, its grid of {} needs {}", path,
                                 volume.voxels.size(), fmt::join(volume.grid.size, " x "), volume.grid.count()));
  const std::string extension = extension_of(path);
  if (extension == ".raw" && compressed)
    throw InputError(fmt::format("'{}': raw files are not compressed; give .mha or .mhd", path));
  if (extension == ".raw") return write_meta_image(volume, sidecar_of(path), false);  // makes both files
  if (holds(meta_extensions, extension)) return write_meta_image(volume, path, compressed);
#ifdef HALOCLINE_WITH_ITK
  write_through_itk(volume.grid, {Component::float32, {}, notes}, volume.voxels.data(), path, compressed);
#endif
}

void check_writable(const std::string& path) {
  if (is_in_memory(path)) return;
  require_writable_extension(path);
  refuse_number_place(path);
  if (names_slice_files(path)) return check_slice_files(path, 1);
  check_output_path(path);
  const std::string extension = extension_of(path);
  if (extension == ".mhd") check_output_path(fs::path(path).replace_extension(".raw").string());
  if (extension == ".raw") check_output_path(sidecar_of(path));
}

bool was_written(const std::string& path, std::size_t slices) {
  if (is_in_memory(path)) return memory_files().has(name_in_memory(path));
  std::error_code code;
  return fs::exists(names_slice_files(path) && slices > 0 ? slice_file(path, slices - 1) : path, code);
}

}  // namespace halocline
