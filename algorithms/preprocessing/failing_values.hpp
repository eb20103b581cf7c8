// Counts of good pixels that fail in single views.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/preprocessing/counts.hpp"

namespace halocline {

struct FailingValues {
  std::vector<std::vector<std::uint32_t>> views;  ///< of each view, ascending: pixels
  std::size_t low = 0, saturated = 0;             ///< of these: below the floor or not finite, and saturated
};

/// Finds counts that are not finite; or far below the dark field, less than half of it; or less than the floor among
/// pixels that see light (their median is 20 floors or more), or saturated or above double the beam among pixels that
/// have less than half of that: up to 64 pixels in a group, or up to four whole rows or
/// columns that were dropped. Where light ends
/// gradually nothing has failed; nor where such a group is there in five views and moves, for that is a part of the
/// object: unless `within_views`, which looks at each view by itself. calibration: its pixels, beams and floor, of
/// these views.
FailingValues find_failing(const VolumeSource& counts, const CountsCalibration& calibration,
                           const std::vector<char>& bad, float saturation, bool within_views);

/// Removes pixels whose failing counts are replaced in any view.
void leave_out_replaced(std::vector<std::size_t>& pixels, const FailingValues& failing);

}  // namespace halocline
