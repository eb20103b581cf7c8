// The pages of a TIFF file as libtiff finds them. Only in builds with HALOCLINE_WITH_ITK.
#pragma once

#include <tiffio.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/images/tiff_directory.hpp"
#include "host/volume/component.hpp"

namespace halocline {

/// The directory of a page.
struct TiffPage {
  std::uint64_t directory = 0;  ///< its place in the file
  std::size_t number = 1;       ///< from 1, previews and masks counted
  std::uint32_t width = 0, height = 0, depth = 1;
  std::uint16_t bits = 1, samples = 1, sample_format = SAMPLEFORMAT_UINT, compression = COMPRESSION_NONE,
                orientation = ORIENTATION_TOPLEFT, photometric = PHOTOMETRIC_MINISBLACK;
  bool tiled = false;
  bool grey_table = true;              ///< a palette, if there is one, is a ramp from black to white
  std::array<double, 2> resolution{};  ///< pixels a unit, of which there may be none; 0 if it is not there
  bool has_spacing = false;
  double spacing[2] = {1, 1};
  std::string description;

  /// The type of its values once each has whole bytes.
  Component component() const;
  /// True if values share bytes.
  bool packed() const { return bits % 8 != 0; }
  std::uint64_t bytes() const { return std::uint64_t{width} * height * component_bytes(component()); }
};

/// An open file, with libtiff's own words kept from the terminal.
class TiffFile {
 public:
  explicit TiffFile(const std::string& path);
  ~TiffFile();
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  TIFF* handle() const { return tiff_.get(); }
  /// libtiff's last words, for messages: errors, and warnings of data that are not whole.
  const std::string& said() const { return said_; }
  /// True if libtiff had any complaint since the last call.
  bool complained();

  /// The pages that are slices: previews and masks are passed over. Throws InputError for one that cannot be read, or
  /// is of another kind than the first.
  std::vector<TiffPage> slices();
  /// Makes the page the one that handle() reads.
  void select(const TiffPage& page);
  /// The directory of the page that handle() reads.
  TiffDirectory directory() const;

 private:
  void require_whole_directory(std::size_t number) const;
  static int on_error(TIFF*, void* self, const char* module, const char* format, va_list arguments);
  static int on_warning(TIFF*, void* self, const char* module, const char* format, va_list arguments);

  std::string path_, said_;
  bool complained_ = false;
  std::uint64_t size_ = 0;
  std::unique_ptr<TIFF, void (*)(TIFF*)> tiff_;
};

}  // namespace halocline
