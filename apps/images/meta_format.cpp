// MetaImage files: .mha, .mhd with its voxels in a file beside it, and .raw with its .mhd beside it.
#include <fmt/format.h>

#include <filesystem>

#include "apps/images/atomic_file.hpp"
#include "apps/images/image_format.hpp"
#include "apps/images/meta_header.hpp"
#include "apps/images/meta_image.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

bool is_raw(const std::string& path) {
  return extension_of(path) == ".raw";
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

std::string header_to_read(const std::string& path) {
  return is_raw(path) ? require_sidecar(path) : path;
}

// The file to write, which makes both where there are two.
std::string header_to_write(const std::string& path) {
  return is_raw(path) ? sidecar_of(path) : path;
}

class MetaFormat : public ImageFormat {
 public:
  const std::vector<std::string>& write_extensions() const override {
    static const std::vector<std::string> extensions{".mha", ".mhd", ".raw"};
    return extensions;
  }
  const std::vector<std::string>& read_extensions() const override {
    static const std::vector<std::string> none;
    return none;
  }
  bool wants_lower_case(const std::string& path) const override { return is_raw(path); }

  ImageInfo info(const std::string& path) const override { return read_meta_image_info(header_to_read(path)); }
  std::unique_ptr<VolumeSource> open(const std::string& path) const override {
    return open_meta_image(header_to_read(path));
  }
  bool is_read_in_pieces(const std::string& path) const override {
    return !read_meta_header(header_to_read(path)).compressed;
  }
  void check_voxels(const std::string& path) const override {
    if (is_read_in_pieces(path)) open(path);
  }

  bool is_streamable() const override { return true; }
  void check_storage(const std::string&, const ImageStorage&) const override {}
  void check_writable(const std::string& path) const override {
    check_output_path(path);
    if (extension_of(path) == ".mhd") check_output_path(fs::path(path).replace_extension(".raw").string());
    if (is_raw(path)) check_output_path(sidecar_of(path));
  }
  std::unique_ptr<ImageSink> create(const std::string& path, const Grid& grid,
                                    const ImageStorage& storage) const override {
    return create_meta_image(header_to_write(path), grid, storage);
  }
  std::unique_ptr<ImageSink> join(const std::string& path, const Grid& grid, const ImageStorage& storage,
                                  const std::string& temporary) const override {
    return join_meta_image(header_to_write(path), grid, storage, temporary);
  }
};

}  // namespace

const ImageFormat& meta_format() {
  static const MetaFormat format;
  return format;
}

}  // namespace halocline
