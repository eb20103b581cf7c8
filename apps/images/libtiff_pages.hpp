// The pages of a TIFF file as libtiff finds them. Only in builds with HALOCLINE_WITH_ITK.
#pragma once

#include <tiffio.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/images/tiff_directory.hpp"
#include "apps/images/tiff_stack.hpp"

namespace halocline {

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
