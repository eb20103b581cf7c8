// Scan geometry files: the XML of RTK (root element RTKThreeDCircularGeometry, versions 2 and 3).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "algorithms/geometry/detector_pixels.hpp"
#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// The longest text that is read as a geometry, whatever its format: more than a million views, which take 450 to 900
/// bytes each.
constexpr std::uint64_t most_geometry_bytes = std::uint64_t{1} << 30;

/// Reads a geometry file. Tags are compared without regard to case and unknown ones are passed over. A value, inside or
/// outside a Projection, holds for all later projections until it is given again, but for the gantry angle, of which
/// each Projection has one; each Projection adds a view. A Matrix is compared with the one computed from the
/// parameters. Throws InputError that names the file, the line or projection, and what to do: if the file is missing,
/// no regular file, larger than most_geometry_bytes, malformed, truncated, nested deeper than 32 elements or of another
/// version, if a value is not a number, if a Projection has no gantry angle or two,
/// if a Matrix element differs by more than 1e-3, or if check_geometry refuses the result. detector, where it is given:
/// the pixels that write_geometry() noted, if it did.
Geometry read_geometry(const std::string& path, DetectorPixels* detector = nullptr);

/// Writes version 3 with 15 digits, laid out as RTK does. A value that is the same in all views, and not 0, is written
/// once at the top; the gantry angle and the matrix in each projection. All angles are brought to [0, 360). Throws
/// InputError as check_geometry does. A detector whose size and spacing are known is noted in a processing instruction,
/// which RTK passes over: for projections that do not say their pixels (TIFF).
void write_geometry(const Geometry& geometry, std::ostream& stream, const DetectorPixels& detector = {});

/// The text that write_geometry writes.
std::string geometry_xml(const Geometry& geometry, const DetectorPixels& detector = {});

}  // namespace halocline
