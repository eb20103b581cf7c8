// Rays of each view in centred volume indices, as ray-driven projectors need them (cl/rays.clh).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

struct RayTable {
  std::vector<float> rays;  ///< 18 a view: what cl/rays.clh says
  std::vector<std::int32_t>
      axes;  ///< of each view: the sum of 1 << axis over the axes that some of its rays may follow
  /// Largest extents, in voxels along i, j, k, of a pixel on the planes across the axis that its ray follows (found on
  /// 9 x 9 pixels of every view, and 5 % more).
  std::array<double, 3> widths{};

  /// Arcs of a cylindrical detector (cl/rays.clh): 4 x (2 columns + 1) numbers a view, or once where these are the same
  /// in all views. Empty: a flat detector.
  std::vector<float> arcs;
  /// Sources (cl/rays.clh), if the source or the detector may be within the volume: 4 numbers a view. Empty: no ray
  /// ends there.
  std::vector<float> sources;

  bool fan_stack = false;     ///< FAN_STACK of cl/rays.clh
  bool within_slice = false;  ///< WITHIN_SLICE of cl/distance_driven.cl

  /// Rays are whole lines through a flat detector's pixels: what every form of the projectors takes.
  bool plain() const { return arcs.empty() && sources.empty(); }
  bool any_follows(int axis) const;
  /// The rays of every detector column differ along k alone, to the last bit, and no ray follows k.
  bool upright() const;
};

/// Position of a point of the world: between the source's plane and the detector (which has no edges, but bends if the
/// radius of a cylindrical one is given) or not. A parallel beam has neither.
enum class Whereabouts { behind_source, between, beyond_detector };
Whereabouts whereabouts(const View& view, double radius, const std::array<double, 3>& point);

/// Throws InputError if a cylindrical detector turns back, as its source sees it, and if float32 would put rays too far
/// from where they are (refuse_coordinates()).
RayTable make_rays(const Geometry& geometry, const Grid& volume, const Grid& projections);

}  // namespace halocline
