#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "apps/images/image_format.hpp"
#include "apps/images/slice_files.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {

namespace fs = std::filesystem;

const std::vector<const ImageFormat*>& file_formats() {
  static const std::vector<const ImageFormat*> formats{&meta_format(), &itk_format()};
  return formats;
}

bool holds(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::string extension_of(const std::string& path) {
  const fs::path name = fs::path(path).filename();
  std::string extension = name.extension().string();
  if (extension == ".gz" || extension == ".GZ") extension = name.stem().extension().string() + extension;
  return lower_case(std::move(extension));
}

bool ImageFormat::reads(const std::string& path) const {
  const std::string extension = extension_of(path);
  return !fs::is_directory(path) && (holds(write_extensions(), extension) || holds(read_extensions(), extension));
}

bool ImageFormat::writes(const std::string& path) const {
  return holds(write_extensions(), extension_of(path));
}

void ImageFormat::write(const Volume& volume, const std::string& path, const HeaderNotes& notes) const {
  const auto image = create(path, volume.grid, {Component::float32, {}, notes});
  image->begin();
  copy_voxels(MemorySource(volume), *image);
  image->commit();
}

bool ImageFormat::was_written(const std::string& path, std::size_t slices) const {
  std::error_code code;
  return fs::exists(names_slice_files(path) && slices > 0 ? slice_file(path, slices - 1) : path, code);
}

std::vector<std::string> image_extensions(bool written) {
  std::vector<std::string> result;
  for (const ImageFormat* format : file_formats())
    result.insert(result.end(), format->write_extensions().begin(), format->write_extensions().end());
  if (written) return result;
  for (const ImageFormat* format : file_formats())
    result.insert(result.end(), format->read_extensions().begin(), format->read_extensions().end());
  return result;
}

void refuse_extension(const std::string& path, bool writing) {
  throw InputError(
      fmt::format("'{}': the extension '{}' is no image format that can be {}; known: {}{}", path, extension_of(path),
                  writing ? "written" : "read", fmt::join(image_extensions(writing), " "),
                  writing ? "" : ", a folder with a DICOM series or TIFF files, or a pattern such as 'proj*.tif'"));
}

const ImageReader& format_to_read(const std::string& path) {
  if (memory_format().reads(path)) return memory_format();
  if (series_format().reads(path)) return series_format();
  return file_format(path);
}

const ImageFormat& file_format(const std::string& path) {
  check_input(path, "'" + path + "'");
  for (const ImageFormat* format : file_formats())
    if (format->reads(path)) return *format;
  refuse_extension(path, false);
}

const ImageFormat* find_format_to_write(const std::string& path) {
  if (memory_format().writes(path)) return &memory_format();
  for (const ImageFormat* format : file_formats())
    if (format->writes(path)) return format;
  return nullptr;
}

const ImageFormat& format_to_write(const std::string& path) {
  const ImageFormat* const format = find_format_to_write(path);
  if (format == nullptr) refuse_extension(path, true);
  return *format;
}

}  // namespace halocline
