// A picture of a scan: where source, detector, volume and field of view are.
#pragma once

#include <optional>

#include "algorithms/geometry/detector_pixels.hpp"
#include "algorithms/geometry/geometry.hpp"
#include "apps/images/png.hpp"

namespace halocline {

/// 1240 x 680 grey values. Left: seen from +y, along the rotation axis; x to the right, z downwards. Right: seen across
/// the axis, y upwards, the source of the first view on the left. Both in mm, each with a bar of a round length. The
/// detector and the field of view need its size and spacing; what is not known is left out, and said.
GreyImage draw_geometry(const Geometry& geometry, const DetectorPixels& detector, const std::optional<Grid>& volume);

}  // namespace halocline
