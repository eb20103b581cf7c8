#include "apps/images/tiff_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "apps/images/tiff_directory.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

// TIFF 6.0, and 32997 of SGI.
struct TiffTag {
  enum Number : std::uint16_t {
    new_subfile_type = 254,
    subfile_type = 255,
    image_width = 256,
    image_length = 257,
    bits_per_sample = 258,
    compression = 259,
    photometric = 262,
    fill_order = 266,
    image_description = 270,
    strip_offsets = 273,
    orientation = 274,
    samples_per_pixel = 277,
    rows_per_strip = 278,
    strip_byte_counts = 279,
    x_resolution = 282,
    y_resolution = 283,
    resolution_unit = 296,
    tile_width = 322,
    sub_directories = 330,
    sample_format = 339,
    image_depth = 32997
  };
};

// Where a page has its values, in the order of its rows.
using Strips = std::vector<StoredPart>;

struct Pages {
  std::uint64_t file_bytes = 0;
  bool msb_first = false;
  std::vector<TiffPage> pages;
  std::vector<Strips> strips;  // of each page
};

class PagesReader {
 public:
  explicit PagesReader(std::string path) : path_(std::move(path)) {
    std::error_code code;
    all_.file_bytes = std::filesystem::file_size(path_, code);
    std::string head(16, '\0');
    std::ifstream(path_, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
    all_.msb_first = head[0] == 'M';
    const auto number = [&](std::size_t at, std::size_t count) {
      std::uint64_t value = 0;
      for (std::size_t n = 0; n < count; ++n)
        value = value * 256 + static_cast<unsigned char>(head[at + (all_.msb_first ? n : count - 1 - n)]);
      return value;
    };
    big_ = number(2, 2) == 43;
    if (big_ && (number(4, 2) != 8 || number(6, 2) != 0)) refuse("has offsets that are not of 8 bytes");
    first_ = big_ ? number(8, 8) : number(4, 4);
  }

  Pages read(bool first_alone) {
    std::set<std::uint64_t> seen;
    std::size_t number = 1;
    for (std::uint64_t at = first_; at != 0; ++number) {
      check_interrupt();
      if (!seen.insert(at).second) refuse("has pages that follow each other in a circle");
      TiffDirectory directory(path_, at, big_, all_.msb_first);
      if (directory.end() == 0 || directory.end() > all_.file_bytes) refuse("ends within the description of a page");
      add(directory, at, number);
      if (first_alone && !all_.pages.empty()) break;
      at = directory.next();
    }
    if (all_.pages.empty()) refuse("has no page that is no preview");
    return std::move(all_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw UnsupportedImage(
        fmt::format("TIFF '{}' {}, which is not read here: write it without compression, in strips, with one grey "
                    "value a pixel, or as .mha",
                    path_, what));
  }

  std::uint64_t one(TiffDirectory& directory, std::uint16_t tag, std::optional<std::uint64_t> otherwise) const {
    if (!directory.has(tag) && otherwise) return *otherwise;
    const auto numbers = directory.numbers(tag);
    if (!numbers || numbers->size() != 1) refuse(fmt::format("has no single number in tag {}", tag));
    return numbers->front();
  }

  void require(TiffDirectory& directory, std::uint16_t tag, std::uint64_t expected) const {
    if (const std::uint64_t found = one(directory, tag, expected); found != expected)
      refuse(fmt::format("has {} in tag {}", found, tag));
  }

  void add(TiffDirectory& directory, std::uint64_t at, std::size_t number) {
    constexpr std::uint64_t reduced = 1, mask = 4;
    if (directory.has(TiffTag::subfile_type)) refuse("has the tag SubfileType");
    if ((one(directory, TiffTag::new_subfile_type, 0) & (reduced | mask)) != 0) return;
    TiffPage page = page_of(directory);
    page.directory = at;
    page.number = number;
    if (!all_.pages.empty()) require_same_tiff_pages(page, all_.pages.front(), path_);
    all_.strips.push_back(strips_of(directory, page));
    all_.pages.push_back(std::move(page));
  }

  TiffPage page_of(TiffDirectory& directory) const {
    for (const std::uint16_t tag :
         {TiffTag::fill_order, TiffTag::samples_per_pixel, TiffTag::compression, TiffTag::image_depth})
      require(directory, tag, 1);
    if (directory.has(TiffTag::tile_width) || directory.has(TiffTag::sub_directories))
      refuse("has tiles or pages within pages");
    TiffPage page;
    const std::uint64_t width = one(directory, TiffTag::image_width, {}),
                        height = one(directory, TiffTag::image_length, {});
    constexpr std::uint64_t most = 0x7fffffff;
    if (width == 0 || height == 0 || width > most || height > most)
      refuse(fmt::format("has {} x {} pixels", width, height));
    page.width = static_cast<std::uint32_t>(width);
    page.height = static_cast<std::uint32_t>(height);
    page.bits = small(directory, TiffTag::bits_per_sample, {});
    page.sample_format = small(directory, TiffTag::sample_format, 1);
    page.photometric = small(directory, TiffTag::photometric, {});
    page.orientation = small(directory, TiffTag::orientation, 1);
    constexpr std::uint16_t of_no_kind = 4;
    if (page.sample_format == of_no_kind) page.sample_format = 1;
    require_type(page);
    take_spacing(directory, page);
    if (directory.has(TiffTag::image_description)) {
      const auto text = directory.text(TiffTag::image_description);
      if (!text) refuse("has a description that is no text");
      if (all_.pages.empty()) page.description = *text;  // that of the first page counts
    }
    return page;
  }

  std::uint16_t small(TiffDirectory& directory, std::uint16_t tag, std::optional<std::uint64_t> otherwise) const {
    const std::uint64_t value = one(directory, tag, otherwise);
    if (value > 0xffff) refuse(fmt::format("has {} in tag {}", value, tag));
    return static_cast<std::uint16_t>(value);
  }

  void require_type(const TiffPage& page) const {
    const auto one_of = [&](auto... bits) { return ((page.bits == bits) || ...); };
    const bool known = page.sample_format == 3   ? one_of(16, 32, 64)
                       : page.sample_format <= 2 ? page.sample_format > 0 && one_of(8, 16, 32, 64)
                                                 : false;
    if (!known) refuse(fmt::format("has {} values of {} bits", sample_format_name(page.sample_format), page.bits));
    if (page.photometric > 1) refuse(fmt::format("has the photometric interpretation {}", page.photometric));
    if (page.orientation < 1 || page.orientation > 8) refuse(fmt::format("has the orientation {}", page.orientation));
  }

  // Numbers of pixels a unit are of float32, as libtiff has them.
  void take_spacing(TiffDirectory& directory, TiffPage& page) const {
    for (const std::size_t axis : {0, 1}) {
      const std::uint16_t tag = axis == 0 ? TiffTag::x_resolution : TiffTag::y_resolution;
      if (!directory.has(tag)) continue;
      const auto ratio = directory.ratio(tag);
      if (!ratio) refuse(fmt::format("has no rational number in tag {}", tag));
      page.resolution[axis] = static_cast<float>(*ratio);
    }
    const std::uint64_t unit = one(directory, TiffTag::resolution_unit, 1);
    if (unit < 1 || unit > 3) refuse(fmt::format("has the unit {} of its resolution", unit));
    const double length = unit == 2 ? 25.4 : unit == 3 ? 10 : 0;
    if (length == 0 || !(page.resolution[0] > 0 && page.resolution[1] > 0)) return;
    page.has_spacing = true;
    for (const std::size_t axis : {0, 1}) page.spacing[axis] = length / page.resolution[axis];
  }

  Strips strips_of(TiffDirectory& directory, const TiffPage& page) {
    const std::uint64_t most_rows = page.height,
                        rows = std::min(one(directory, TiffTag::rows_per_strip, most_rows), most_rows);
    const auto offsets = directory.numbers(TiffTag::strip_offsets),
               sizes = directory.numbers(TiffTag::strip_byte_counts);
    if (rows == 0 || !offsets || !sizes) refuse("has no list of strips");
    const std::uint64_t count = (page.height + rows - 1) / rows, row_bytes = page.bytes() / page.height;
    if (offsets->size() != count || sizes->size() != count)
      refuse(fmt::format("has lists of {} and {} strips, where {} are", offsets->size(), sizes->size(), count));
    constexpr std::uint64_t least = 4;  // bytes of a strip in lists that no other page has
    all_strips_ += count;
    if (all_strips_ > all_.file_bytes / least) refuse("has pages that share their lists of strips");
    Strips strips;
    for (std::uint64_t n = 0; n < count; ++n) {
      const std::uint64_t bytes = std::min(rows, page.height - n * rows) * row_bytes;
      const std::uint64_t offset = (*offsets)[n], header = big_ ? 16 : 8;
      if ((*sizes)[n] < bytes || offset < header || offset > all_.file_bytes || bytes > all_.file_bytes - offset)
        refuse(fmt::format("has {} bytes for strip {} at byte {}", (*sizes)[n], n + 1, offset));
      if (!strips.empty() && strips.back().offset + strips.back().bytes == offset)
        strips.back().bytes += bytes;
      else
        strips.push_back({path_, offset, bytes});
    }
    return strips;
  }

  std::string path_;
  bool big_ = false;
  std::uint64_t first_ = 0;
  Pages all_;
  std::uint64_t all_strips_ = 0;
};

// libtiff's list of strips need not have the bytes that the rows have.
std::uint64_t begin_of_row(const Strips& strips) {
  return strips.size() == 1 ? strips.front().offset : 0;
}

}  // namespace

std::optional<StoredImage> tiff_image(const std::string& path) {
  if (!is_tiff_file(path)) return {};
  const Pages all = PagesReader(path).read(false);
  const TiffStack stack =
      tiff_stack(path, all.file_bytes, all.pages, [&](const TiffPage&) { return begin_of_row(all.strips.front()); });
  StoredImage image;
  StoredVoxels& voxels = image.voxels;
  image.info = tiff_info(stack, path);
  voxels.grid = image.info.grid;
  voxels.storage.component = stack.pages.front().component();
  voxels.swapped = all.msb_first != (std::endian::native == std::endian::big);
  if (stack.row_of_slices != 0)
    voxels.parts = {{path, stack.row_of_slices, voxels.byte_count()}};
  else
    for (const Strips& strips : all.strips) voxels.parts.insert(voxels.parts.end(), strips.begin(), strips.end());
  return image;
}

TiffKind read_tiff_kind(const std::string& path) {
  return tiff_kind(PagesReader(path).read(true).pages.front());
}

}  // namespace halocline
