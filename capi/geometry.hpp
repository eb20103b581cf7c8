// Scan geometries and grids of the C interface.
#pragma once

#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "capi/include/halocline.h"

struct halocline_geometry {
  halocline::Geometry geometry;
};

namespace halocline::capi {

/// Throws InputError that names `what` as check_grid() does, and for a size that no computer holds.
Grid grid_of(const halocline_grid& grid, const char* what);
/// Throws the same, and for none or a null pointer.
std::vector<Grid> grids_of(const halocline_grid* grids, int64_t count, const char* what);
halocline_grid c_grid(const Grid& grid);

}  // namespace halocline::capi
