// Series of image files, one slice or projection each, by one name: a pattern with wildcards, a pattern with a place
// for the number, or a folder.
#pragma once

#include <string>
#include <vector>

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
};
NumberPlace number_place(const std::string& path);

}  // namespace halocline
