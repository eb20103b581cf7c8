// Single counts that no object explains: far below, or above, all around them in the view and in those beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/preprocessing/view_of_counts.hpp"

namespace halocline {

struct ViewBeside {
  std::ptrdiff_t distance;  ///< in views
  ViewOfCounts view;
};

/// Pixels of a view whose line integral is above or below those of the pixels around them by more than ln 2 and twice
/// the range of these (four times, of fewer than 17), and by six standard deviations of counts that are photons. One of
/// them may go with the pixel, so that pairs are found. At least seven are needed.
class OddValues {
 public:
  /// Compares within the view.
  explicit OddValues(const ViewOfCounts& view);
  bool empty() const { return found_.empty(); }
  /// Returns pixels, ascending, that are odd among those of the views next to it, too, and do not continue in any of
  /// `beside`: no pixel up to `reach` columns a view away is a twelfth as far beyond the others.
  std::vector<std::uint32_t> among(const std::vector<ViewBeside>& beside, std::ptrdiff_t reach) const;

 private:
  const ViewOfCounts& view_;
  std::vector<std::uint32_t> found_;
};

}  // namespace halocline
