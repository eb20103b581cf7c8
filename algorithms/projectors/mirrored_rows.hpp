// Rows of the detector above and below the mid-plane of an untilted circular scan: they see mirrored volumes alike, so
// that work on one serves both.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// In every view, voxels (x, y, z) and (x, y, -z) from the volume's middle are seen in the same column, from the same
/// depth, in rows v and sum - v.
struct MirroredRows {
  int sum = 0;           ///< whole, so that a row mirrors onto a row
  bool upwards = false;  ///< v grows with z
  /// Rows of pairs from the mid-plane on until there is no pixel, in the longer of the two directions: at most `rows`.
  int pairs(std::size_t rows) const;
};

/// Nothing if they are not, to what doubles round, or the mid-plane does not meet the `rows` of the detector. That
/// takes a volume whose axis k is the rotation axis, centred on the source's plane, a detector without tilt, and on it
/// the same height of that plane in all views, in the middle of a row or of two. matrices: index_to_detector() of each
/// view.
std::optional<MirroredRows> mirrored_rows(const std::vector<Matrix34>& matrices, const std::array<std::size_t, 3>& size,
                                          std::size_t rows);

}  // namespace halocline
