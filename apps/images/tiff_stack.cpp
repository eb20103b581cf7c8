#include "apps/images/tiff_stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <utility>

#include "apps/images/new_warning.hpp"
#include "apps/images/tiff_imagej.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// Values of the tags 339, 274 and 262 (TIFF 6.0).
constexpr std::uint16_t with_sign = 2, floating = 3, top_left = 1, white_is_zero = 0;

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

// ImageJ and tifffile describe one page of what is larger than 4 GB, and say in words how many follow it.
void take_row_of_slices(const std::string& path, std::uint64_t file_bytes, std::uint64_t first, std::size_t described,
                        TiffStack& stack) {
  const TiffPage& page = stack.pages.front();
  if (first == 0 || page.directory > first || page.bytes() == 0) return;
  // one of a stack that was taken apart may still have the words, but nothing behind it
  const bool alone = file_bytes <= first + page.bytes() + 1;
  if (alone && page.description.find("\"truncated\": true") == std::string::npos) return;
  if ((file_bytes - first) / page.bytes() < described)
    throw InputError(
        fmt::format("'{}' is truncated: it says that it holds {} images, of {} bytes each from byte {} on, "
                    "but the file has {} bytes; copy it again",
                    path, described, page.bytes(), first, file_bytes));
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

void warn_of_orientation(const std::string& path, const TiffPage& page) {
  if (page.orientation != top_left && is_first_of_folder(path, "orientation"))
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

void require_same_kind(const TiffKind& kind, const std::string& file, const TiffKind& first,
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

}  // namespace

std::string sample_format_name(std::uint16_t format) {
  switch (format) {
    case 2:
      return "signed";
    case 3:
      return "floating-point";
    case 5:
    case 6:
      return "complex";
    default:
      return "unsigned";
  }
}

Component TiffPage::component() const {
  if (bits < 8) return Component::uint8;
  if (sample_format == floating)
    return bits == 16 ? Component::float16 : bits == 32 ? Component::float32 : Component::float64;
  return integer_component(sample_format == with_sign, (bits + 7U) / 8);
}

TiffStack tiff_stack(const std::string& path, std::uint64_t file_bytes, std::vector<TiffPage> pages,
                     const std::function<std::uint64_t(const TiffPage&)>& begin_of_row) {
  TiffStack stack;
  stack.pages = std::move(pages);
  const TiffPage& page = stack.pages.front();
  stack.size = {page.width, page.height, stack.pages.size()};
  const std::vector<std::size_t> axes = described_axes(page.description);
  std::size_t described = 1;
  constexpr std::size_t most = std::size_t{1} << 20;
  for (const std::size_t count : axes) described = std::min(described * std::min(count, most), most * most);
  if (stack.size[2] == 1 && described > 1 && !page.description.starts_with('<'))
    take_row_of_slices(path, file_bytes, begin_of_row(page), described, stack);
  if (axes.size() > 1 && stack.size[2] == described)
    throw InputError(
        fmt::format("'{}' has {} images along {} axes ({}); 2D and 3D images can be read: extract one volume", path,
                    described, axes.size(), fmt::join(axes, " x ")));
  take_shape(stack, described_shape(page.description));
  return stack;
}

void require_same_tiff_pages(const TiffPage& page, const TiffPage& first, const std::string& path) {
  const auto compare = [&](const char* name, const auto& found, const auto& expected) {
    if (found != expected)
      throw InputError(
          fmt::format("'{}': page {} has {} {}, page {} has {}; all slices must be of one kind: write "
                      "those that belong together to a file, or to one each",
                      path, page.number, name, found, first.number, expected));
  };
  compare("width", page.width, first.width);
  compare("height", page.height, first.height);
  compare("bits a value", page.bits, first.bits);
  compare("sample format", sample_format_name(page.sample_format), sample_format_name(first.sample_format));
  compare("photometric interpretation", page.photometric, first.photometric);
  compare("orientation", page.orientation, first.orientation);
}

Grid tiff_grid(const TiffStack& stack) {
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

bool is_first_of_folder(const std::string& path, const char* kind) {
  return is_new_warning(fmt::format("TIFF {} in {}", kind, fs::path(path).parent_path().string()));
}

ImageInfo tiff_info(const TiffStack& stack, const std::string& path) {
  warn_of_orientation(path, stack.pages.front());
  warn_of_spacing(path, stack.pages);
  const TiffPage& page = stack.pages.front();
  const auto described = imagej_spacing(page.description, page.resolution);
  const bool has_slice_spacing = stack.size[2] > 1 && described && described->has_slices;
  const ImageInfo info{
      tiff_grid(stack), component_name(page.component()), has_slice_spacing ? "TIFF of ImageJ" : "TIFF", {}, {}};
  check_grid(info.grid, "'" + path + "'");
  return info;
}

TiffKind tiff_kind(const TiffPage& page) {
  return {page.photometric == white_is_zero, page.orientation};
}

void require_one_tiff_kind(const std::vector<std::string>& files, const std::string& series,
                           const std::function<TiffKind(const std::string& file)>& kind_of) {
  if (!is_tiff_file(files.front())) return;
  const TiffKind first = kind_of(files.front());
  for (const auto& file : files) {
    check_interrupt();
    if (is_tiff_file(file)) require_same_kind(kind_of(file), file, first, files.front(), series);
  }
}

bool is_tiff_file(const std::string& path) {
  check_input_file(path, "'" + path + "'");
  std::array<unsigned char, 4> head{};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(head.data()), head.size());
  const bool little = head[0] == 'I' && head[1] == 'I' && head[3] == 0,
             big = head[0] == 'M' && head[1] == 'M' && head[2] == 0;
  const unsigned char version = little ? head[2] : head[3];
  return (little || big) && (version == 42 || version == 43);
}

}  // namespace halocline
