// A drawing of a scan: source, detector, volume and field of view.
#pragma once

#include <optional>
#include <string>

#include "algorithms/geometry/detector_pixels.hpp"
#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// An SVG file. Left: seen from +y, along the rotation axis; x to the right, z downwards. Right: seen across
/// the axis, y upwards, the source of the first view on the left. Both in mm, each with a bar of a round length. The
/// detector and the field of view need its size and spacing; without them a line says so.
std::string draw_geometry(const Geometry& geometry, const DetectorPixels& detector, const std::optional<Grid>& volume);

}  // namespace halocline
