// Large parts of the detector without light in a few views, as where a readout block or half a frame is lost.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace halocline {

/// Box of a group of pixels in a view: columns and rows that it reaches, and how many pixels it has.
struct GroupBox {
  std::ptrdiff_t left, right, top, bottom;
  std::size_t pixels;

  bool operator==(const GroupBox&) const = default;
  /// True if another, in the next view, is within `reach` columns and a row.
  bool is_near(const GroupBox& other, std::ptrdiff_t reach) const {
    return other.left <= right + reach && left <= other.right + reach && other.top <= bottom + 1 &&
           top <= other.bottom + 1;
  }
};

/// Views beside a dark part in which it is not there; nothing beyond an end of the scan.
struct PartEnds {
  std::optional<std::size_t> before, after;
};

/// Returns where a part of a view ends on both sides, if it is present in at most 12 views on end, one end of which is
/// in the scan, and is four pixels thick or more: that is, no part of an eighth of its pixels or more is beside it.
/// parts: those of each view. reach: columns that a part of the object moves from view to view at most.
std::optional<PartEnds> ends_of_part(const std::vector<std::vector<GroupBox>>& parts, std::size_t view,
                                     const GroupBox& part, std::ptrdiff_t reach);

}  // namespace halocline
