// Reading of scans, for the targets of geometries.
#pragma once

#include <optional>
#include <string>

#include "apps/options/geometry_file.hpp"

namespace halocline::fuzz {

/// Reads a geometry as the commands do, and asks all that they ask of its file.
ScanFile read_scan(const std::string& path, std::optional<GeometryFormat> format = {},
                   const DetectorPixels& detector = {});

/// The file, which was written from the scan, can be read and has as many views.
void require_views(const ScanFile& scan, const std::string& path);

}  // namespace halocline::fuzz
