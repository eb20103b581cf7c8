#include "apps/images/tiff_image.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <utility>

#include "apps/images/allocate_volume.hpp"
#include "apps/images/new_warning.hpp"
#include "apps/images/tiff_imagej.hpp"
#include "apps/images/tiff_pages.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// A whole file: pages of one kind, or the values of all slices in a row behind a single page.
struct TiffStack {
  std::vector<TiffPage> pages;
  std::array<std::size_t, 3> size{};  // as Grid::size
  std::uint64_t row_of_slices = 0;    // place of their beginning, if there are more than pages
};

std::vector<std::size_t> numbers_in(const std::string& text, const std::string& pattern) {
  const std::regex number(pattern);
  std::vector<std::size_t> numbers;
  for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at)
    numbers.push_back(std::stoull((*at)[1]));
  return numbers;
}

// The size that tifffile says, slowest axis first; empty if another program wrote the file.
std::vector<std::size_t> described_shape(const std::string& text) {
  if (!text.starts_with("{\"shape\": [")) return {};
  std::vector<std::size_t> shape = numbers_in(text.substr(0, text.find(']')), "([0-9]{1,9})");
  while (shape.size() > 3 && shape.front() == 1) shape.erase(shape.begin());
  while (shape.size() > 3 && shape.back() == 1) shape.pop_back();
  return shape;
}

// The numbers of images that the description of ImageJ, OME and tifffile states along each axis that has several.
std::vector<std::size_t> described_axes(const std::string& text) {
  std::vector<std::size_t> axes = described_shape(text);
  axes.resize(axes.size() > 2 ? axes.size() - 2 : 0);
  const auto add = [&](const std::string& from, const std::string& pattern) {
    const auto found = numbers_in(from, pattern);
    if (!found.empty()) axes.push_back(found.front());
  };
  if (text.starts_with("ImageJ=")) {
    for (const char* name : {"channels", "slices", "frames"}) add(text, fmt::format("\n{}=([0-9]{{1,9}})", name));
    if (axes.empty()) add(text, "\nimages=([0-9]{1,9})");
  } else if (text.find("<OME") != std::string::npos) {
    constexpr std::size_t longest = 4096;
    const auto at = text.find("<Pixels");
    if (at == std::string::npos) return {};
    const std::string pixels = text.substr(at, std::min(text.find('>', at) - at, longest));
    for (const char* name : {"SizeC", "SizeZ", "SizeT"}) add(pixels, fmt::format(" {}=\"([0-9]{{1,9}})\"", name));
  }
  std::erase(axes, 1);
  return axes;
}

// The place of the values of an uncompressed page if they are contiguous; otherwise 0.
std::uint64_t begin_of_row(const TiffFile& file, const TiffPage& page) {
  if (page.compression != COMPRESSION_NONE || page.tiled || page.packed()) return 0;
  const std::uint32_t strips = TIFFNumberOfStrips(file.handle());
  const std::uint64_t first = TIFFGetStrileOffset(file.handle(), 0);
  std::uint64_t end = first;
  for (std::uint32_t n = 0; n < strips; ++n) {
    if (TIFFGetStrileOffset(file.handle(), n) != end) return 0;
    end += TIFFGetStrileByteCount(file.handle(), n);
  }
  return end == first + page.bytes() ? first : 0;
}

// ImageJ and tifffile describe one page of what is larger than 4 GB, and say in words how many follow it.
void take_row_of_slices(TiffFile& file, TiffStack& stack, std::size_t described) {
  const TiffPage& page = stack.pages.front();
  const std::uint64_t first = begin_of_row(file, page);
  if (first == 0 || page.directory > first || page.bytes() == 0) return;
  // one of a stack that was taken apart may still have the words, but nothing behind it
  const bool alone = file.size() <= first + page.bytes() + 1;
  if (alone && page.description.find("\"truncated\": true") == std::string::npos) return;
  if ((file.size() - first) / page.bytes() < described)
    throw InputError(
        fmt::format("'{}' is truncated: it says that it holds {} images, of {} bytes each from byte {} on, "
                    "but the file has {} bytes; copy it again",
                    file.path(), described, page.bytes(), first, file.size()));
  stack.size[2] = described;
  stack.row_of_slices = first;
}

// tifffile stores a stack of columns, or of rows, as one page.
void take_shape(TiffStack& stack, const std::vector<std::size_t>& shape) {
  if (shape.size() != 3) return;
  const std::array<std::size_t, 3> size{shape[2], shape[1], shape[0]};
  std::vector<std::size_t> found(stack.size.begin(), stack.size.end()), said(size.begin(), size.end());
  std::erase(found, 1);
  std::erase(said, 1);
  if (found == said) stack.size = size;
}

TiffStack stack_of(TiffFile& file) {
  TiffStack stack;
  stack.pages = file.slices();
  const TiffPage& page = stack.pages.front();
  stack.size = {page.width, page.height, stack.pages.size()};
  const std::vector<std::size_t> axes = described_axes(page.description);
  std::size_t described = 1;
  constexpr std::size_t most = std::size_t{1} << 20;
  for (const std::size_t count : axes) described = std::min(described * std::min(count, most), most * most);
  if (stack.size[2] == 1 && described > 1 && !page.description.starts_with('<')) {
    file.select(page);
    take_row_of_slices(file, stack, described);
  }
  if (axes.size() > 1 && stack.size[2] == described)
    throw InputError(
        fmt::format("'{}' has {} images along {} axes ({}); 2D and 3D images can be read: extract one volume",
                    file.path(), described, axes.size(), fmt::join(axes, " x ")));
  take_shape(stack, described_shape(page.description));
  return stack;
}

Grid grid_of(const TiffStack& stack) {
  Grid grid;
  grid.size = stack.size;
  const TiffPage& page = stack.pages.front();
  grid.spacing = {page.spacing[0], page.spacing[1], 1};
  if (const auto described = imagej_spacing(page.description, page.resolution)) {
    grid.spacing = described->mm;
    if (grid.size[2] == 1) grid.spacing[2] = 1;
  }
  return grid;
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

// True once a folder and kind of warning.
bool is_first_of_folder(const std::string& path, const char* kind) {
  return is_new_warning(fmt::format("TIFF {} in {}", kind, fs::path(path).parent_path().string()));
}

void warn_of_orientation(const std::string& path, const TiffPage& page) {
  if (page.orientation != ORIENTATION_TOPLEFT && is_first_of_folder(path, "orientation"))
    spdlog::warn(
        "'{}' has the orientation {} (TIFF tag 274); its rows and columns are taken as they are stored, which "
        "is orientation 1: turn the image before, if it must be turned",
        path, page.orientation);
}

void warn_of_spacing(const std::string& path, const std::vector<TiffPage>& pages) {
  constexpr double rounding = 1e-4;
  const TiffPage& first = pages.front();
  const auto differs = [&](const TiffPage& page) {
    for (const int axis : {0, 1})
      if (std::abs(page.spacing[axis] - first.spacing[axis]) > rounding * first.spacing[axis]) return page.has_spacing;
    return false;
  };
  const auto found = std::find_if(pages.begin(), pages.end(), differs);
  if (found != pages.end() && is_first_of_folder(path, "spacing"))
    spdlog::warn(
        "'{}': page {} has pixels of {:.6g} x {:.6g} mm, page {} of {:.6g} x {:.6g} mm, which all are taken to have",
        path, found->number, found->spacing[0], found->spacing[1], first.number, first.spacing[0], first.spacing[1]);
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

bool is_tiff_file(const std::string& path) {
  check_input_file(path, "'" + path + "'");
  std::array<unsigned char, 4> head{};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(head.data()), head.size());
  const bool little = head[0] == 'I' && head[1] == 'I' && head[3] == 0,
             big = head[0] == 'M' && head[1] == 'M' && head[2] == 0;
  const unsigned char version = little ? head[2] : head[3];
  return (little || big) && (version == 42 || version == 43);
}

ImageInfo read_tiff_info(const std::string& path) {
  TiffFile file(path);
  const TiffStack stack = stack_of(file);
  warn_of_orientation(path, stack.pages.front());
  warn_of_spacing(path, stack.pages);
  const TiffPage& page = stack.pages.front();
  const auto described = imagej_spacing(page.description, page.resolution);
  const bool has_slice_spacing = stack.size[2] > 1 && described && described->has_slices;
  const ImageInfo info{
      grid_of(stack), component_name(page.component()), has_slice_spacing ? "TIFF of ImageJ" : "TIFF", {}, {}};
  check_grid(info.grid, "'" + path + "'");
  return info;
}

TiffKind read_tiff_kind(const std::string& path) {
  const TiffPage page = TiffFile(path).slices().front();
  return {page.photometric == PHOTOMETRIC_MINISWHITE, page.orientation};
}

void require_same_tiff_kind(const TiffKind& kind, const std::string& file, const TiffKind& first,
                            const std::string& first_file, const std::string& series) {
  const auto zero = [](const TiffKind& of) { return of.white_is_zero ? "white-is-zero" : "black-is-zero"; };
  if (kind.white_is_zero != first.white_is_zero)
    throw InputError(
        fmt::format("'{}' of the series '{}' is {} (TIFF tag 262), but '{}' is {}: their values do not mean the same; "
                    "convert one of the two kinds",
                    file, series, zero(kind), first_file, zero(first)));
  if (kind.orientation != first.orientation)
    throw InputError(
        fmt::format("'{}' of the series '{}' has the orientation {} (TIFF tag 274), but '{}' has {}, and rows and "
                    "columns are taken as they are stored; turn the images to one orientation",
                    file, series, kind.orientation, first_file, first.orientation));
}

TypedVolume read_tiff_typed(const std::string& path) {
  TiffFile file(path);
  const TiffStack stack = stack_of(file);
  warn_of_orientation(path, stack.pages.front());
  warn_of_spacing(path, stack.pages);
  require_bytes(file, stack);
  TypedVolume volume = allocate_volume(grid_of(stack), stack.pages.front().component(), path);
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
