// The formats of ITK in builds without it: each is refused by name.
#include <fmt/format.h>

#include <filesystem>

#include "apps/images/formats_of_itk.hpp"
#include "apps/images/image_format.hpp"
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
  void require_available(const std::string& path) const override { refuse(path); }
  ImageInfo info(const std::string& path) const override { refuse(path); }
  std::unique_ptr<VolumeSource> open(const std::string& path) const override { refuse(path); }
  bool is_read_in_pieces(const std::string& path) const override { refuse(path); }
  void check_voxels(const std::string& path) const override { refuse(path); }
  void check_storage(const std::string& path, const ImageStorage& storage) const override {
    check_itk_storage(path, storage);
  }
  void check_writable(const std::string& path) const override { refuse(path); }
  std::unique_ptr<ImageSink> create(const std::string& path, const Grid&, const ImageStorage&) const override {
    refuse(path);
  }

 private:
  [[noreturn]] static void refuse(const std::string& path) {
    throw InputError(
        fmt::format("'{}': this build of Halocline has no ITK, which this format needs; install ITK "
                    "(libinsighttoolkit5-dev) and rebuild with -DHALOCLINE_WITH_ITK=ON, or convert the image to .mha",
                    path));
  }
};

}  // namespace

const ImageFormat& itk_format() {
  static const NoItkFormat format;
  return format;
}

}  // namespace halocline
