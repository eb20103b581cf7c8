// The formats of ITK in builds without it: their plain forms are read, all else is refused by name.
#include <fmt/format.h>

#include <filesystem>

#include "apps/images/formats_of_itk.hpp"
#include "apps/images/image_format.hpp"
#include "apps/images/image_reader_process.hpp"
#include "apps/images/stored_image.hpp"
#include "apps/images/tiff_image.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

class NoItkFormat : public ImageFormat {
 public:
  const std::vector<std::string>& write_extensions() const override { return itk_write_extensions(); }
  const std::vector<std::string>& read_extensions() const override { return itk_read_extensions(); }
  bool reads(const std::string& path) const override {
    return std::filesystem::is_directory(path) || ImageFormat::reads(path);
  }
  void require_available(const std::string& path, bool writing) const override {
    static const std::vector<std::string> read_here{".nrrd", ".nhdr",   ".nii", ".nii.gz", ".hdr",
                                                    ".img",  ".img.gz", ".tif", ".tiff"};
    if (writing || !(std::filesystem::is_directory(path) || holds(read_here, extension_of(path)))) refuse(path);
  }
  ImageInfo info(const std::string& path) const override { return stored(path).info; }
  std::unique_ptr<VolumeSource> open(const std::string& path) const override {
    return open_stored_image(stored(path), path);
  }
  bool is_read_in_pieces(const std::string& path) const override { return is_streamed(stored(path)); }
  void check_voxels(const std::string& path) const override {
    if (const StoredImage image = stored(path); is_streamed(image)) open_stored_image(image, path);
  }
  void require_one_kind(const std::vector<std::string>& files, const std::string& series) const override {
    require_one_tiff_kind(files, series, read_tiff_kind);
  }
  void check_storage(const std::string& path, const ImageStorage& storage) const override {
    check_itk_storage(path, storage);
  }
  void check_writable(const std::string& path) const override { refuse(path); }
  std::unique_ptr<ImageSink> create(const std::string& path, const Grid&, const ImageStorage&) const override {
    refuse(path);
  }

 private:
  static StoredImage stored(const std::string& path) {
    auto image = stored_image(path);
    if (!image) refuse(path);
    return std::move(*image);
  }
  [[noreturn]] static void refuse(const std::string& path) {
    throw InputError(
        fmt::format("'{}': this build of Halocline has no ITK, which this format needs; install ITK "
                    "(libinsighttoolkit5-dev) and rebuild with -DHALOCLINE_WITH_ITK=ON, or convert the image to .mha",
                    path));
  }
};

}  // namespace

void read_images_in_process_of(const std::string&) {}

bool run_image_reader() {
  return false;
}

const ImageFormat& itk_format() {
  static const NoItkFormat format;
  return format;
}

}  // namespace halocline
