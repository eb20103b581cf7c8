// Scan geometries from text files of any format.
#pragma once

#include <optional>
#include <string>

#include "algorithms/geometry/geometry_text.hpp"

namespace halocline {

/// dxchange: HDF5, which apps/ reads.
enum class GeometryFormat { rtk, astra, matrices, xtekct, pca, dxchange };

/// Guesses by extension, else by content; nothing for rows of numbers that do not say what they are. Throws InputError
/// for a file that cannot be read.
std::optional<GeometryFormat> guess_format(const std::string& path);

/// Reads a geometry in `format`; without one, of guess_format(). `detector` are the pixels that the geometry is wanted
/// for; what it leaves open the file says. Throws InputError, for dxchange, too.
ScanFile read_scan_file(const std::string& path, std::optional<GeometryFormat> format, const DetectorPixels& detector);

/// The pixels that such a file knows by itself, as far as it does. Throws InputError.
DetectorPixels detector_of_scan_file(const std::string& path, std::optional<GeometryFormat> format);

}  // namespace halocline
