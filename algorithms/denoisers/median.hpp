// Median filter: a filter to compare others with.
#pragma once

#include "algorithms/denoisers/filter.hpp"

namespace halocline {

/// u = the median of the (2 radius + 1)^3 voxels around, in 2D where an axis has one voxel; the faces' values are
/// repeated beyond the volume. Input "f", result "u".
class Median : public Filter {
 public:
  /// Uses size, filter.radius, variants.
  explicit Median(const MethodParameters& parameters);

  Requirements requirements() const override;
  void iterate(Slab& slab, int iteration, Range core) const override;
};

}  // namespace halocline
