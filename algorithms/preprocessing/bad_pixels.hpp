// Pixels of a detector that do not measure.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "algorithms/preprocessing/counts.hpp"

namespace halocline {

/// Counts of a pixel over a whole scan. lowest and highest: the one above the other if there are no such counts.
struct SeenPixel {
  float lowest = INFINITY, highest = -INFINITY;        ///< of counts at the floor or above
  std::size_t raised = 0, saturated = 0;               ///< views below the floor or not finite, and saturated
  float low_usual = INFINITY, high_usual = -INFINITY;  ///< of these counts, those that are not far too bright
  float common = 0;      ///< the count that most views have, if one of them does (Boyer & Moore 1981)
  std::size_t lead = 0;  ///< at most by so many views more than all others together

  void take(float count) {
    if (lead == 0) common = count;
    lead += count == common ? 1 : -1;
  }

  /// Returns the same with what is usual in place of all, if there is any.
  SeenPixel usual() const {
    SeenPixel out = *this;
    if (low_usual <= high_usual) out.lowest = low_usual, out.highest = high_usual;
    return out;
  }
};

/// Marks (1) pixels that
///   - show no signal above the floor in any view,
///   - show the same count in all of two or more views, and are between columns of their row that do not; or at an end
///     of the row, unless these are as bright as pixels that see the beam and do not have the same count in all views,
///     as the air beside the object is in a scan without noise, or
///   - have a flat of less than half or more than double the median of the up to 17 pixels around them in the row.
/// `open` is the flat minus the dark field, columns by rows, or 1 without flats; pixels where it is not above 0 have
/// been marked before. `step`: the unit that counts are rounded to.
void mark_bad_pixels(const std::vector<double>& open, const std::vector<double>& dark,
                     const std::vector<SeenPixel>& seen, std::size_t columns, std::size_t views, bool with_flats,
                     double step, std::vector<char>& bad);

/// Good pixels that were raised to the floor in a tenth of the views or more, and four times as often as good ones two
/// columns away on both sides: where nothing penetrates an object, that holds for pixels side by side.
std::vector<std::size_t> failing_pixels(const std::vector<SeenPixel>& seen, const std::vector<char>& bad,
                                        std::size_t columns, std::size_t views);

/// Returns rows without a good pixel, ascending.
std::vector<std::size_t> rows_of_bad_pixels(const std::vector<char>& bad, std::size_t columns);

/// Returns columns and rows of the thickest group of bad pixels: those on end in the row and in the column of the pixel
/// for which the shorter of both is the longest.
std::array<std::size_t, 2> thickest_group(const std::vector<char>& bad, std::size_t columns);
/// Groups up to so many pixels thick are filled well (unmeasured.hpp) away from the detector's edges: an ellipsoid's
/// line integrals of up to 3, with edges, come out to less than 0.1 RMS (0.05, 0.07 and 0.11 for columns of 1, 2 and
/// 3). Where the object reaches a column at the edge it is 0.12, and 0.28 for two.
constexpr std::size_t filled_well = 2;

}  // namespace halocline
