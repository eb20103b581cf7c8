#include "apps/images/libtiff_pages.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "host/system/error.hpp"

namespace halocline {
namespace {

const char* const as_grey = "convert it to one grey value a pixel, of 8, 16 or 32 bits";

std::string photometric_name(const TiffPage& page) {
  switch (page.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
      return page.samples == 1 ? "grey" : "grey and others";
    case PHOTOMETRIC_RGB:
      return page.samples == 4 ? "RGBA" : "RGB";
    case PHOTOMETRIC_PALETTE:
      return "places in a table of colours";
    case PHOTOMETRIC_MASK:
      return "a transparency mask";
    case PHOTOMETRIC_SEPARATED:
      return "CMYK";
    case PHOTOMETRIC_YCBCR:
      return "YCbCr";
    case PHOTOMETRIC_CFA:
      return "colours behind a filter array";
    default:
      return fmt::format("photometric interpretation {}", page.photometric);
  }
}

// True for 0, 1, ..., 255 in steps of equal size, of 8 or 16 bits.
bool is_grey_ramp(const std::uint16_t* red, const std::uint16_t* green, const std::uint16_t* blue, std::size_t count) {
  const double last = red[count - 1];
  for (std::size_t n = 0; n < count; ++n)
    if (red[n] != green[n] || red[n] != blue[n] ||
        std::abs(red[n] - last * static_cast<double>(n) / static_cast<double>(count - 1)) > 1 + last / 256)
      return false;
  return last > 0;
}

// Spacing in mm, where the file says it with a unit of length.
void take_spacing(TIFF* tiff, TiffPage& page) {
  std::uint16_t unit = RESUNIT_NONE;
  float x = 0, y = 0;
  TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &x);
  TIFFGetField(tiff, TIFFTAG_YRESOLUTION, &y);
  TIFFGetField(tiff, TIFFTAG_RESOLUTIONUNIT, &unit);
  page.resolution = {x, y};
  const double length = unit == RESUNIT_INCH ? 25.4 : unit == RESUNIT_CENTIMETER ? 10 : 0;
  if (length == 0 || !(x > 0 && y > 0)) return;
  page.has_spacing = true;
  page.spacing[0] = length / x;
  page.spacing[1] = length / y;
}

TiffPage page_of(TIFF* tiff, std::size_t number) {
  TiffPage page;
  page.directory = TIFFCurrentDirOffset(tiff);
  page.number = number;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &page.width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &page.height);
  TIFFGetField(tiff, TIFFTAG_IMAGEDEPTH, &page.depth);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &page.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &page.samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &page.sample_format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &page.compression);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &page.orientation);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &page.photometric);
  if (page.sample_format == SAMPLEFORMAT_VOID) page.sample_format = SAMPLEFORMAT_UINT;  // TIFF 6.0, section 19
  page.tiled = TIFFIsTiled(tiff) != 0;
  take_spacing(tiff, page);
  std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
  if (page.photometric == PHOTOMETRIC_PALETTE)
    page.grey_table = page.bits <= 16 && TIFFGetField(tiff, TIFFTAG_COLORMAP, &red, &green, &blue) != 0 &&
                      is_grey_ramp(red, green, blue, std::size_t{1} << page.bits);
  const char* text = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) != 0 && text != nullptr) page.description = text;
  return page;
}

// Previews and masks.
bool is_ignored(TIFF* tiff) {
  std::uint32_t type = 0;
  return TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &type) != 0 && (type & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) != 0;
}

bool is_known_type(const TiffPage& page) {
  const auto one_of = [&](auto... bits) { return ((page.bits == bits) || ...); };
  switch (page.sample_format) {
    case SAMPLEFORMAT_UINT:
      return (page.bits >= 1 && page.bits <= 16) || one_of(32, 64);
    case SAMPLEFORMAT_INT:
      return one_of(8, 16, 32, 64);
    case SAMPLEFORMAT_IEEEFP:
      return one_of(16, 32, 64);
    default:
      return false;
  }
}

void require_readable(const TiffPage& page, const std::string& path) {
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    throw InputError(fmt::format("'{}'{} {}: {}", path, page.number > 1 ? fmt::format(", page {},", page.number) : "",
                                 what, remedy));
  };
  if (page.width == 0 || page.height == 0)
    refuse(fmt::format("has {} x {} pixels", page.width, page.height), "at least one along each axis is expected");
  if (page.samples != 1)
    refuse(fmt::format("has {} values a pixel ({}); only images of single values can be read", page.samples,
                       photometric_name(page)),
           as_grey);
  if (page.photometric > PHOTOMETRIC_MINISBLACK && !(page.photometric == PHOTOMETRIC_PALETTE && page.grey_table))
    refuse(fmt::format("holds {}; only grey values can be read", photometric_name(page)), as_grey);
  if (!is_known_type(page))
    refuse(fmt::format("has {} values of {} bits; unsigned ones of 1 to 16, 32 or 64 bits, signed ones of 8, 16, 32 or "
                       "64 and floating-point ones of 16, 32 or 64 can be read",
                       sample_format_name(page.sample_format), page.bits),
           "convert it to one of these");
  if (page.depth > 1)
    refuse(fmt::format("has {} slices in a page (ImageDepth)", page.depth), "write a page for each slice");
  if (TIFFIsCODECConfigured(page.compression) == 0) {
    const TIFFCodec* codec = TIFFFindCODEC(page.compression);
    refuse(fmt::format("is compressed by a method that libtiff does not read here: {}{}", page.compression,
                       codec != nullptr ? fmt::format(" ({})", codec->name) : ""),
           "store it without compression, or with LZW or Deflate");
  }
}

std::string text_of(const char* module, const char* format, va_list arguments) {
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  return module != nullptr ? fmt::format("{}: {}", module, text) : text;
}

}  // namespace

// m: not mapped to memory, for a file that shrinks meanwhile would end the process; c: strips as they are.
TiffFile::TiffFile(const std::string& path) : path_(path), tiff_(nullptr, TIFFClose) {
  std::error_code code;
  size_ = std::filesystem::file_size(path, code);
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, this);
  tiff_.reset(TIFFOpenExt(path.c_str(), "rmc", options.get()));
  if (!tiff_)
    throw InputError(fmt::format("'{}' is truncated or damaged: its first page is not described ({}); copy it again",
                                 path, said_.empty() ? "libtiff does not open it" : said_));
}

TiffFile::~TiffFile() = default;

int TiffFile::on_error(TIFF*, void* self, const char* module, const char* format, va_list arguments) {
  auto& file = *static_cast<TiffFile*>(self);
  file.complained_ = true;
  file.said_ = text_of(module, format, arguments);
  spdlog::debug("libtiff: {}", file.said_);
  return 1;
}

int TiffFile::on_warning(TIFF* tiff, void* self, const char* module, const char* format, va_list arguments) {
  on_error(tiff, self, module, format, arguments);
  return 1;
}

bool TiffFile::complained() {
  return std::exchange(complained_, false);
}

TiffDirectory TiffFile::directory() const {
  const bool msb_first = (std::endian::native == std::endian::big) != (TIFFIsByteSwapped(handle()) != 0);
  return {path_, TIFFCurrentDirOffset(handle()), TIFFIsBigTIFF(handle()) != 0, msb_first};
}

// libtiff takes the place of the next page for 0 if the file ends before it.
void TiffFile::require_whole_directory(std::size_t number) const {
  if (const std::uint64_t end = directory().end(); end == 0 || end > size_)
    throw InputError(
        fmt::format("'{}' is truncated: page {} is described up to byte {}, but the file has {}; copy it again", path_,
                    number, end, size_));
}

std::vector<TiffPage> TiffFile::slices() {
  std::vector<TiffPage> slices;
  for (std::size_t number = 1;; ++number) {
    if (!is_ignored(handle())) {
      slices.push_back(page_of(handle(), number));
      require_readable(slices.back(), path_);
      require_same_tiff_pages(slices.back(), slices.front(), path_);
    }
    if (TIFFLastDirectory(handle()) != 0) {
      require_whole_directory(number);
      break;
    }
    if (TIFFReadDirectory(handle()) == 0)
      throw InputError(fmt::format("'{}' is truncated or damaged: page {} is not described ({}); copy it again", path_,
                                   number + 1, said_));
  }
  if (slices.empty())
    throw InputError(fmt::format("'{}' holds previews or masks alone; write the images to a file of their own", path_));
  return slices;
}

void TiffFile::select(const TiffPage& page) {
  if (TIFFCurrentDirOffset(handle()) != page.directory && TIFFSetSubDirectory(handle(), page.directory) == 0)
    throw InputError(fmt::format("'{}': page {} cannot be read: {}", path_, page.number, said_));
#ifdef TIFFTAG_DEFLATE_SUBCODEC
  // libtiff with libdeflate accepts a strip of more bytes than its rows, of which libdeflate writes a part
  // alone.
  if (page.compression == COMPRESSION_ADOBE_DEFLATE || page.compression == COMPRESSION_DEFLATE)
    TIFFSetField(handle(), TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
#endif
}

}  // namespace halocline
