// Pages of a TIFF file as one image, whoever reads them.
//
// Each page that is no preview and no mask is a slice, with one grey value a pixel as it is stored: rows and columns in
// the order of the file whatever its orientation says, and white-is-zero is not inverted, as tifffile and ImageJ take
// them. Anything else is refused.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/images/image_info.hpp"

namespace halocline {

/// The directory of a page.
struct TiffPage {
  std::uint64_t directory = 0;  ///< its place in the file
  std::size_t number = 1;       ///< from 1, previews and masks counted
  std::uint32_t width = 0, height = 0, depth = 1;
  // values of the tags, by default unsigned, uncompressed, in the order of the file, black-is-zero
  std::uint16_t bits = 1, samples = 1, sample_format = 1, compression = 1, orientation = 1, photometric = 1;
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

/// The words for a value of the tag 339: "signed".
std::string sample_format_name(std::uint16_t format);

/// A whole file: pages of one kind, or the values of all slices in a row behind a single page.
struct TiffStack {
  std::vector<TiffPage> pages;
  std::array<std::size_t, 3> size{};  ///< as Grid::size
  std::uint64_t row_of_slices = 0;    ///< place of their beginning, if there are more than pages
};

/// The stack of a file of so many bytes. begin_of_row: the place of the values of a page if they are contiguous, else
/// 0. Throws InputError for more than three dimensions, and for files that are shorter than the first page says.
TiffStack tiff_stack(const std::string& path, std::uint64_t file_bytes, std::vector<TiffPage> pages,
                     const std::function<std::uint64_t(const TiffPage&)>& begin_of_row);

/// Throws InputError that names both pages if one is of another size or type than the first.
void require_same_tiff_pages(const TiffPage& page, const TiffPage& first, const std::string& path);

Grid tiff_grid(const TiffStack& stack);

/// Grid, type and whether ImageJ says the distance of slices. Throws InputError for a wrong grid. Warns of orientations
/// and of pages with pixels of other sizes, once a folder.
ImageInfo tiff_info(const TiffStack& stack, const std::string& path);

/// The meaning of the values of the first page and the order of its rows and columns, by the tags 262 and 274.
struct TiffKind {
  bool white_is_zero = false;
  std::uint16_t orientation = 1;
};

TiffKind tiff_kind(const TiffPage& page);

/// Throws InputError that names both files if one of the TIFF files of a series is of another kind than its first file.
/// Other files pass.
void require_one_tiff_kind(const std::vector<std::string>& files, const std::string& series,
                           const std::function<TiffKind(const std::string& file)>& kind_of);

/// True at the first call with this kind of warning for a file in its folder.
bool is_first_of_folder(const std::string& path, const char* kind);

/// True if the file begins as TIFF or BigTIFF files do. Throws InputError for what is no regular file.
bool is_tiff_file(const std::string& path);

}  // namespace halocline
