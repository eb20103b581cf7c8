#include "apps/images/libtiff_image.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "apps/images/allocate_volume.hpp"
#include "apps/images/libtiff_pages.hpp"
#include "apps/images/tiff_imagej.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

// The place of the values of an uncompressed page if they are contiguous, whatever else its last strip holds; otherwise
// 0.
std::uint64_t begin_of_row(TiffFile& file, const TiffPage& page) {
  if (page.compression != COMPRESSION_NONE || page.tiled || page.packed()) return 0;
  const std::uint32_t strips = TIFFNumberOfStrips(file.handle());
  const std::uint64_t first = TIFFGetStrileOffset(file.handle(), 0), whole = TIFFStripSize64(file.handle());
  std::uint64_t end = 0;
  for (std::uint32_t n = 0; n < strips; ++n) {
    const std::uint64_t bytes = std::min(whole, page.bytes() - end);
    if (TIFFGetStrileOffset(file.handle(), n) != first + end || TIFFGetStrileByteCount(file.handle(), n) < bytes)
      return 0;
    end += bytes;
  }
  return end == page.bytes() ? first : 0;
}

TiffStack stack_of(TiffFile& file) {
  return tiff_stack(file.path(), file.size(), file.slices(), [&](const TiffPage& page) {
    file.select(page);
    return begin_of_row(file, page);
  });
}

// Refuses sizes before memory is asked for. Compression gains no more than this, and pieces that are not stored, and
// stand for zeros, take room in lists.
void require_bytes(const TiffFile& file, const TiffStack& stack) {
  constexpr double most_gain = 65536, always = 0x1p26;
  double bytes = component_bytes(stack.pages.front().component());
  for (const std::size_t size : stack.size) bytes *= static_cast<double>(size);
  if (bytes > always && bytes > most_gain * static_cast<double>(file.size()))
    throw InputError(
        fmt::format("'{}' is truncated or its header is wrong: its {} bytes cannot hold {} values; copy it again",
                    file.path(), file.size(), fmt::join(stack.size, " x ")));
}

void warn_of_missing(const std::string& path, const TiffPage& page, std::size_t pieces) {
  if (pieces > 0 && is_first_of_folder(path, "missing"))
    spdlog::warn("'{}' has {} with neither place nor size: {}; their values are taken for 0", path,
                 page.tiled ? "tiles" : "strips", pieces);
}

// `count` values of `bits` bits each, which follow each other from the most significant bit on.
template <typename T>
void unpack(const std::byte* from, unsigned bits, std::size_t count, std::byte* to) {
  std::uint32_t held = 0;
  unsigned available = 0;
  for (std::size_t n = 0; n < count; ++n) {
    for (; available < bits; available += 8) held = (held << 8) | static_cast<std::uint32_t>(*from++);
    available -= bits;
    const auto value = static_cast<T>((held >> available) & ((1U << bits) - 1));
    std::memcpy(to + n * sizeof(T), &value, sizeof(T));
  }
}

// Places of the strips or tiles of a page, by the file itself: libtiff puts other numbers for those that look wrong.
class StoredPieces {
 public:
  /// Selects the page.
  StoredPieces(TiffFile& file, const TiffPage& page) : file_(file), page_(page) {
    file.select(page);
    TiffDirectory directory = file.directory();
    offsets_ = directory.numbers(page.tiled ? TIFFTAG_TILEOFFSETS : TIFFTAG_STRIPOFFSETS);
    sizes_ = directory.numbers(page.tiled ? TIFFTAG_TILEBYTECOUNTS : TIFFTAG_STRIPBYTECOUNTS);
    has_nodata_ = directory.has(42113);
    count_ = page.tiled ? TIFFNumberOfTiles(file.handle()) : TIFFNumberOfStrips(file.handle());
  }

  /// False for one with neither place nor size, which stands for zeros. Throws InputError unless it has the bytes that
  /// its rows need.
  bool has(std::uint32_t piece, std::uint64_t needed) const {
    const std::uint64_t header = is_big() ? 16 : 8;
    if (!offsets_) return true;
    if (piece >= offsets_->size() || (sizes_ && piece >= sizes_->size()))
      refuse_missing(piece,
                     fmt::format("{} of {} are listed",
                                 sizes_ ? std::min(offsets_->size(), sizes_->size()) : offsets_->size(), count_));
    const std::uint64_t offset = (*offsets_)[piece];
    if (sizes_ && offset == 0 && (*sizes_)[piece] == 0) {
      if (has_nodata_) refuse_missing(piece, "it has the value of the tag GDAL_NODATA, which is not supported");
      return false;
    }
    if (offset < header) refuse_missing(piece, fmt::format("it is listed at byte {}", offset));
    if (!sizes_) return true;
    const std::uint64_t size = (*sizes_)[piece];
    if (size == 0 && count_ > 1) refuse_missing(piece, "it is listed with 0 bytes");
    const bool overflows = !is_big() && needed >> 32 != 0;
    if (page_.compression == COMPRESSION_NONE && size != 0 && size < needed && !overflows)
      throw InputError(
          fmt::format("'{}' is truncated or damaged: {} has {} bytes, its rows need {}; write or copy it again",
                      file_.path(), name(piece), size, needed));
    return true;
  }

 private:
  bool is_big() const { return TIFFIsBigTIFF(file_.handle()) != 0; }
  std::string name(std::uint32_t piece) const {
    return fmt::format("{} {} of page {}", page_.tiled ? "tile" : "strip", piece + 1, page_.number);
  }
  [[noreturn]] void refuse_missing(std::uint32_t piece, const std::string& reason) const {
    throw InputError(fmt::format("'{}': {} is not in the file: {}; write or copy it again, with all of its values",
                                 file_.path(), name(piece), reason));
  }

  const TiffFile& file_;
  const TiffPage& page_;
  std::optional<std::vector<std::uint64_t>> offsets_, sizes_;
  bool has_nodata_ = false;
  std::uint32_t count_ = 0;
};

// Reads one page to `to`.
class PageReader {
 public:
  PageReader(TiffFile& file, const TiffPage& page, std::byte* to)
      : file_(file), page_(page), pieces_(file, page), to_(to), value_bytes_(component_bytes(page.component())) {}
  /// Returns the number of strips or tiles that are not stored.
  std::size_t read() {
    page_.tiled ? read_tiles() : read_strips();
    return missing_;
  }

 private:
  // Strips and tiles: where they end in the file, and whether libtiff has all of their values.
  void read_piece(std::uint32_t piece, void* to, std::uint64_t bytes) {
    check_interrupt();
    std::memset(to, 0, bytes);
    if (!pieces_.has(piece, bytes)) {
      ++missing_;
      return;
    }
    const std::uint64_t stored =
        page_.compression == COMPRESSION_NONE ? bytes : TIFFGetStrileByteCount(file_.handle(), piece);
    const std::uint64_t end = TIFFGetStrileOffset(file_.handle(), piece) + stored;
    if (end > file_.size())
      throw InputError(
          fmt::format("'{}' is truncated: the values of page {} reach to byte {}, but the file has {}; copy "
                      "it again",
                      file_.path(), page_.number, end, file_.size()));
    file_.complained();
    const auto size = static_cast<tmsize_t>(bytes);
    const tmsize_t got = page_.tiled ? TIFFReadEncodedTile(file_.handle(), piece, to, size)
                                     : TIFFReadEncodedStrip(file_.handle(), piece, to, size);
    const bool complained = file_.complained() && is_lenient();
    if (got != size || complained)
      throw InputError(
          fmt::format("cannot read page {} of '{}', it may be truncated or damaged: {}", page_.number, file_.path(),
                      got < 0 || complained ? file_.said() : fmt::format("{} bytes, expected {}", got, bytes)));
  }
  // Decoders that make up what is missing, with a warning.
  bool is_lenient() const {
    constexpr std::uint16_t lenient[] = {COMPRESSION_JPEG,      COMPRESSION_OJPEG,     COMPRESSION_CCITTRLE,
                                         COMPRESSION_CCITTFAX3, COMPRESSION_CCITTFAX4, COMPRESSION_CCITTRLEW};
    return std::find(std::begin(lenient), std::end(lenient), page_.compression) != std::end(lenient);
  }

  void read_strips() {
    std::uint32_t rows = 0;
    TIFFGetFieldDefaulted(file_.handle(), TIFFTAG_ROWSPERSTRIP, &rows);
    rows = std::min(rows, page_.height);
    if (rows == 0) throw InputError(fmt::format("'{}': page {} has strips of no rows", file_.path(), page_.number));
    const std::uint64_t row_bytes = (std::uint64_t{page_.width} * page_.bits + 7) / 8;
    for (std::uint32_t y = 0; y < page_.height; y += std::min(rows, page_.height - y)) {
      const std::uint32_t count = std::min(rows, page_.height - y);
      const std::uint32_t strip = TIFFComputeStrip(file_.handle(), y, 0);
      if (!page_.packed()) {
        read_piece(strip, at(0, y), row_bytes * count);
        continue;
      }
      buffer_.resize(row_bytes * count);
      read_piece(strip, buffer_.data(), buffer_.size());
      for (std::uint32_t row = 0; row < count; ++row) put(buffer_.data() + row * row_bytes, 0, y + row, page_.width);
    }
  }

  void read_tiles() {
    std::uint32_t width = 0, height = 0;
    TIFFGetField(file_.handle(), TIFFTAG_TILEWIDTH, &width);
    TIFFGetField(file_.handle(), TIFFTAG_TILELENGTH, &height);
    const std::uint64_t row_bytes = (std::uint64_t{width} * page_.bits + 7) / 8;
    const std::uint64_t most = std::max(std::uint64_t{64} << 20, 4 * page_.bytes());  // bytes of a tile
    if (row_bytes == 0 || height == 0 || row_bytes > most / height)
      throw InputError(
          fmt::format("'{}': page {} has tiles of {} x {} pixels", file_.path(), page_.number, width, height));
    buffer_.resize(row_bytes * height);
    for (std::uint64_t y = 0; y < page_.height; y += height)
      for (std::uint64_t x = 0; x < page_.width; x += width) {
        const auto left = static_cast<std::uint32_t>(x), top = static_cast<std::uint32_t>(y);
        read_piece(TIFFComputeTile(file_.handle(), left, top, 0, 0), buffer_.data(), buffer_.size());
        for (std::uint32_t row = 0; row < std::min(height, page_.height - top); ++row)
          put(buffer_.data() + row * row_bytes, left, top + row, std::min(width, page_.width - left));
      }
  }

  std::byte* at(std::uint64_t x, std::uint64_t y) const { return to_ + (y * page_.width + x) * value_bytes_; }
  void put(const std::byte* from, std::uint32_t x, std::uint32_t y, std::size_t count) {
    if (!page_.packed())
      std::memcpy(at(x, y), from, count * value_bytes_);
    else if (value_bytes_ == 1)
      unpack<std::uint8_t>(from, page_.bits, count, at(x, y));
    else
      unpack<std::uint16_t>(from, page_.bits, count, at(x, y));
  }

  TiffFile& file_;
  const TiffPage& page_;
  StoredPieces pieces_;
  std::byte* to_;
  std::size_t value_bytes_, missing_ = 0;
  std::vector<std::byte> buffer_;
};

void read_row_of_slices(const TiffFile& file, const TiffStack& stack, TypedVolume& volume) {
  std::ifstream in(file.path(), std::ios::binary);
  in.seekg(static_cast<std::streamoff>(stack.row_of_slices));
  const std::size_t slice = volume.grid.slice() * component_bytes(volume.component), slices = stack.size[2];
  for (std::size_t n = 0; n < slices; ++n) {
    check_interrupt();
    std::byte* to = volume.bytes() + n * slice;
    if (!in.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(slice)))
      throw InputError(fmt::format("'{}' is truncated: its image {} of {} is not whole", file.path(), n + 1, slices));
    if (TIFFIsByteSwapped(file.handle()) != 0) swap_bytes(volume.component, to, volume.grid.slice());
  }
}

}  // namespace

ImageInfo read_libtiff_info(const std::string& path) {
  TiffFile file(path);
  return tiff_info(stack_of(file), path);
}

TiffKind read_libtiff_kind(const std::string& path) {
  return tiff_kind(TiffFile(path).slices().front());
}

TypedVolume read_libtiff(const std::string& path) {
  TiffFile file(path);
  const TiffStack stack = stack_of(file);
  tiff_info(stack, path);
  require_bytes(file, stack);
  TypedVolume volume = allocate_volume(tiff_grid(stack), stack.pages.front().component(), path);
  if (stack.row_of_slices != 0) {
    read_row_of_slices(file, stack, volume);
    return volume;
  }
  std::byte* to = volume.bytes();
  std::size_t missing = 0;
  for (const TiffPage& page : stack.pages) {
    missing += PageReader(file, page, to).read();
    to += page.bytes();
  }
  warn_of_missing(path, stack.pages.front(), missing);
  return volume;
}

}  // namespace halocline
