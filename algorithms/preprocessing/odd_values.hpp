// Single counts that no object explains: far below, or above, all around them in the view and in those beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/preprocessing/view_of_counts.hpp"

namespace halocline {

/// Pixels of a view whose line integral is above or below those of the pixels around them by more than ln 2 and twice
/// the range of these (four times, of fewer than 17), and by six standard deviations of counts that are photons. Up to
/// three of 26, or one of fewer than 17, may go with the pixel, so that pairs are found. At least seven are needed.
class OddValues {
 public:
  /// Compares within the view.
  explicit OddValues(const ViewOfCounts& view);
  bool empty() const { return found_.empty(); }
  /// Returns groups of a pixel each that differ half as much or more from those around them in the view.
  const std::vector<CountGroup>& alike() const { return alike_; }
  /// Returns groups of a pixel each, of kind dim or glaring, that are odd in the views before and after it, too; these
  /// are nullptr where there is none.
  std::vector<CountGroup> among(const ViewOfCounts* before, const ViewOfCounts* after) const;

 private:
  const ViewOfCounts& view_;
  std::vector<std::uint32_t> found_;
  std::vector<CountGroup> alike_;
};

}  // namespace halocline
