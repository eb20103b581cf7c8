// Views that are a half or a quarter of a turn apart: they see the turned volume alike, so that work on one can be used
// for all.
#pragma once

#include <array>
#include <vector>

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// True if the matrices, index_to_detector() of a volume of `size` voxels, send no voxel farther apart than the
/// rounding of doubles does, relative to the largest terms.
bool agree(const Matrix34& a, const Matrix34& b, const std::array<std::size_t, 3>& size);

/// The views, by number, in packs of `views` (2 or 4) that follow each other a half or a quarter of a turn apart. A
/// turn takes voxel (x, y), counted from the volume's middle, to (-x, -y) or (y, -x). matrices: index_to_detector() of
/// each view. Empty if they do not all make such packs, to what doubles round, or the volume of `size` voxels does not
/// turn into itself.
std::vector<int> turned_views(const std::vector<Matrix34>& matrices, const std::array<std::size_t, 3>& size, int views);

/// The same, of the views of a scan.
std::vector<int> turned_packs(const Geometry& geometry, const Grid& volume, const Grid& projections, int views);

}  // namespace halocline
