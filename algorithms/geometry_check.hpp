// Whether a scan geometry can be true, and what a reconstruction will suffer from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/detector_pixels.hpp"
#include "algorithms/geometry.hpp"

namespace halocline {

struct Finding {
  bool impossible = false;  ///< no reconstruction is right with it; otherwise a warning
  std::string text;         ///< what was found, in which view, and what to do
};

/// What is wrong with a geometry that check_geometry accepts: a missing arc, views that do not belong together,
/// a detector turned over, large tilts, and with the detector's pixels the axis outside the detector, with a volume too
/// how much of it is seen. In the order of gravity: what is impossible first.
std::vector<Finding> geometry_findings(const Geometry& geometry, const DetectorPixels& detector = {},
                                       const std::optional<Grid>& volume = {});

/// The column (u, v) in mm on which the isocentre falls.
std::array<double, 2> isocentre_on_detector(const View& view);

/// Mean over the views and the largest departure from it, of what moves the image of the axis.
struct Alignment {
  struct Value {
    double mean = 0, spread = 0;
  };
  Value axis_u, axis_v;          ///< where the isocentre falls on the detector, mm
  Value out_of_plane, in_plane;  ///< degrees
  Value source_x, source_y;      ///< source offsets, mm
};
Alignment alignment(const Geometry& geometry);

}  // namespace halocline
