// What ray-driven projectors need of a scan: the rays of each view in centred volume indices, for cl/rays.clh.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "algorithms/geometry.hpp"

namespace halocline {

struct RayTable {
  std::vector<float> rays;  ///< 18 a view: what cl/rays.clh says
  std::vector<std::int32_t>
      axes;  ///< of each view: the sum of 1 << axis over the axes that some of its rays may follow
  /// Largest extents, in voxels along i, j, k, of a pixel on the planes across the axis that its ray follows (found on
  /// 9 x 9 pixels of every view, and 5 % more).
  std::array<double, 3> widths{};

  bool any_follows(int axis) const;
  /// The index axis (j = 1 or k = 2) along which alone the rays of every detector column differ, to the last bit, and
  /// which no ray follows; 0 if there is none.
  int axial_rows() const;
};

RayTable make_rays(const Geometry& geometry, const Grid& volume, const Grid& projections);

}  // namespace halocline
