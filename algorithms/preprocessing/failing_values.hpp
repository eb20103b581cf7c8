// Counts of good pixels that fail in single views.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/preprocessing/counts.hpp"

namespace halocline {

struct FailingValues {
  std::vector<std::vector<std::uint32_t>> views;  ///< of each view, ascending: pixels
  std::size_t low = 0, saturated = 0;             ///< of these: below the floor or not finite, and saturated
  std::vector<std::size_t> rough;                 ///< ascending: views in which a large part was lost
};

/// Finds counts of these kinds:
///   - not finite; or far below the dark field, less than half of it;
///   - darker than the darkest signal (darkest_signal()) among pixels that see light, or saturated or above double the
///     beam among pixels that have less than half of that: up to 64 pixels in a group, or up to four whole rows or
///     columns that were dropped;
///   - far below or above all around them in the view and in those beside it (OddValues), and
///   - larger groups without light that come and go abruptly (ends_of_part()), both in scans of 60 views or more.
/// Where light ends gradually nothing has failed; nor where such a group persists through five views and moves, for
/// that is a part of the object. With `within_views` each view is examined by itself, for the first two kinds only.
/// calibration: its pixels, beams, floor and noise, of these views, in the order of their angles.
FailingValues find_failing(const VolumeSource& counts, const CountsCalibration& calibration,
                           const std::vector<char>& bad, float saturation, bool within_views);

/// Removes pixels whose failing counts are replaced in any view.
void leave_out_replaced(std::vector<std::size_t>& pixels, const FailingValues& failing);

}  // namespace halocline
