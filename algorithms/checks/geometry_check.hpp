// Checks whether a scan geometry can be true, and what a reconstruction will suffer from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/geometry/detector_pixels.hpp"
#include "algorithms/geometry/geometry.hpp"

namespace halocline {

struct GeometryFinding {
  bool impossible = false;  ///< no reconstruction is right with it; otherwise a warning
  std::string text;         ///< the finding, its view, and what to do
};

/// Reports what is wrong with a geometry that check_geometry accepts: a missing arc, views that do not belong together,
/// a detector turned over, large tilts; with the detector's pixels the axis outside the detector, and with a volume how
/// much of it is seen. Findings are in order of gravity: impossible ones first. from_top: images are known to be stored
/// from the top row, and in-plane angles near 180 degrees are right.
std::vector<GeometryFinding> geometry_findings(const Geometry& geometry, const DetectorPixels& detector = {},
                                               const std::optional<Grid>& volume = {}, bool from_top = false);

}  // namespace halocline
