// Pairs of opposite views, for finding the axis and the tilt of the detector.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Throws InputError as check_projections does, or if the stack's direction turns or mirrors the detector.
void check_axis_stack(const Grid& projections, const Geometry& geometry);

/// The detector row (fractional) on which the plane across the axis through the source is seen: v = sy - py.
double middle_row(const Grid& projections, const Geometry& geometry);

/// The views round the circle.
class ViewCircle {
 public:
  explicit ViewCircle(const Geometry& geometry);
  struct Between {
    std::size_t low, high;
    double fraction;
  };
  /// The neighbours of an angle in radians, or false if it is too far from any view: a view without neighbours on both
  /// sides counts within one and a half median gaps.
  bool find(double angle, Between& out) const;

 private:
  std::vector<std::pair<double, std::size_t>> views_;
  double median_ = 0;
};

/// The views that have another opposite to them.
std::vector<std::size_t> opposed_views(const Geometry& geometry);

/// Angle by which the pair of views nearest to opposite misses it, radians; pi without any.
double opposite_error(const Geometry& geometry);

/// Up to `most` of the numbers 0 to count - 1, evenly spread.
std::vector<std::size_t> spread(std::size_t count, std::size_t most);

}  // namespace halocline
