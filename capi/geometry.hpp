// Scan geometries and grids of the C interface.
#pragma once

#include "algorithms/geometry/geometry.hpp"
#include "capi/include/halocline.h"

struct halocline_geometry {
  halocline::Geometry geometry;
};

namespace halocline::capi {

/// Throws InputError that names `what` as check_grid() does, and for a size that no computer holds.
Grid grid_of(const halocline_grid& grid, const char* what);
halocline_grid c_grid(const Grid& grid);

}  // namespace halocline::capi
