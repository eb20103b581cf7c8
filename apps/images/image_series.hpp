// Series of image files, one slice or projection each, by one name: a pattern with wildcards, a pattern with a place
// for the number, or a folder.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/volume/volume.hpp"

namespace halocline {

/// Numbers in names count as numbers: "p9.tif" comes before "p10.tif".
bool natural_less(const std::string& a, const std::string& b);

/// The files that a pattern names, sorted; nothing if `path` is a file or folder, or is no pattern.
///   scan/proj*.tif      wildcards * ? [...], in natural order
///   scan/proj_%04d.tif  in the order of the numbers, which must follow each other: a missing view would shift the rest
/// Throws InputError for a pattern that names no file, and for a missing number.
std::vector<std::string> series_files(const std::string& path);

/// The TIFF files (.tif, .tiff) of a folder in natural order; nothing if `path` is no folder.
std::vector<std::string> tiff_files(const std::string& path);

/// The last place in a name for a number, %d or %04d: what stands around it, and the digits that it is filled to.
struct NumberPlace {
  std::string before, after;
  int width = 1;
  bool found = false;
  std::string with(std::size_t number) const;
  /// The number that makes `name` of it.
  std::optional<std::size_t> number_in(const std::string& name) const;
  /// The place in the file's name, not in that of a folder: the files are then those of numbered_files().
  bool in_name() const;
};
NumberPlace number_place(const std::string& path);

/// The files of a pattern with a place for the number, whatever numbers are missing.
std::map<std::size_t, std::string> numbered_files(const std::string& pattern, const NumberPlace& place);

/// Throws InputError unless files may come to be in the series: `path` is a folder, or a pattern in a folder, that is
/// there and can be read.
void check_growing_series(const std::string& path);

/// The files that a folder or pattern names by now, sorted: maybe none, and numbers may be missing. What the file
/// system refuses counts as not there.
std::vector<std::string> files_so_far(const std::string& path);

/// True if a file of this name would belong to the series.
bool series_would_hold(const std::string& path, const std::string& file);

/// Throws InputError unless `grid`, of a file of the series, is one image of the size of the first one. Warns, once a
/// series, of pixels of another size than those of the first.
void require_same_images(const Grid& grid, const std::string& file, const Grid& first, const std::string& first_file,
                         const std::string& series);

}  // namespace halocline
