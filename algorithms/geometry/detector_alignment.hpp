// Positions of the detector and the source relative to the rotation axis, over all views.
#pragma once

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// Mean over the views and the largest departure from it, of what moves the image of the axis.
struct Alignment {
  struct Value {
    double mean = 0, spread = 0;
  };
  Value axis_u, axis_v;          ///< projection of the isocentre on the detector, mm
  Value out_of_plane, in_plane;  ///< degrees
  Value source_x, source_y;      ///< source offsets, mm
};
Alignment alignment(const Geometry& geometry);

}  // namespace halocline
