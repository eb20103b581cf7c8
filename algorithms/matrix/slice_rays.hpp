// Voxels of one slice that each ray of a scan within slices meets: the non-zeros of the slice's system matrix. The same
// for every slice and its row of the detector.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/rays.hpp"

namespace halocline {

/// Voxels `first` to `last` of a line of them; none if they are not in that order.
struct MetVoxels {
  int first, last;
  int count() const { return std::max(0, last - first + 1); }
};

/// A ray as a strip about the line b = shift + slope p: on the plane at p voxels from the slice's middle, the ray meets
/// voxels whose centres are nearer to b than half of the strip.
struct SliceRay {
  int axis = 0;                ///< that it follows most: planes are across i (0) or j (1); b is along the other
  int planes = 0, voxels = 0;  ///< along `axis` and across
  double slope = 0, shift = 0;
  double width_slope = 0, width_shift = 0, least_width = 0;  ///< shadow of a pixel, added to the strip
  double reach = 0;                                          ///< half of the strip without
  double beyond = 0;                                         ///< of the path, before the first plane and after the last

  /// Voxels across that it meets on the planes from `first` to `last`: all of the range, as slopes are 1 at most and
  /// strips at least 1 wide. margin: added to half of the strip.
  MetVoxels met(int first, int last, double margin) const {
    const Edges edges = edges_of(first, last);
    const double most = voxels + 1.0, low = std::clamp(edges.low - margin, -1.0, most),
                 high = std::clamp(edges.high + margin, -1.0, most);
    // truncated from 1 on: numbers are not negative there
    return {std::max(0, static_cast<int>(low + 1)), std::min(voxels, ceiling(high + 1) - 1) - 1};
  }
  /// Pairs of a plane and a voxel on it that it meets, but for those at the strip's edges that rounding may put there.
  std::uint64_t nonzeros() const;

 private:
  struct Edges {
    double low, high;
  };
  Edges edges_of(int first, int last) const {
    const double from = first - 0.5 * (planes - 1) - beyond, to = last - 0.5 * (planes - 1) + beyond;
    const double at_from = shift + slope * from, at_to = shift + slope * to;
    const double half_from = half(from), half_to = half(to);
    return {std::min(at_from - half_from, at_to - half_to), std::max(at_from + half_from, at_to + half_to)};
  }
  static constexpr double least_met = 1e-4;  ///< of a voxel
  Edges edges_of(int plane) const {
    const double p = plane - 0.5 * (planes - 1), at = shift + slope * p;
    const double to_edge = half(p) + std::abs(slope) * beyond - least_met;
    return {at - to_edge, at + to_edge};
  }
  static int ceiling(double positive) {
    const int whole = static_cast<int>(positive);
    return whole + (whole < positive ? 1 : 0);
  }
  double half(double p) const {
    const double width = std::abs(width_shift + width_slope * p);
    return reach + 0.25 * (width + least_width + std::abs(width - least_width));  // the larger, without a branch
  }
};

class SliceRays {
 public:
  /// Throws InputError unless every row of the detector is on a slice (slice_rows()), for slices of more than
  /// most_slice_voxels, and as make_rays() does.
  SliceRays(const Geometry& geometry, const Grid& volume, const Grid& projections, Projector::Named projector);

  /// Some of the rays: the views from 0 on, the detector's columns from `first_column` on.
  SliceRays stored(std::uint32_t first_column, std::uint32_t views) const;

  std::uint32_t columns() const { return columns_ - first_column_; }
  std::uint32_t first_column() const { return first_column_; }  ///< of the detector
  std::uint32_t views() const { return views_; }
  std::uint32_t nx() const { return nx_; }
  std::uint32_t ny() const { return ny_; }

  /// column: from first_column() on.
  SliceRay ray(std::uint32_t column, std::uint32_t view) const;
  /// Margin within which float32 may see the ray meet a voxel that double does not: with it, no weight of a kernel
  /// lies outside SliceRay::met().
  double margin() const { return margin_; }

  /// Non-zeros of all rays.
  std::uint64_t nonzeros() const;

 private:
  struct Line {
    int axis;
    double slope, shift;
  };
  struct FlatRay {
    float dx, dy, mz;
  };
  FlatRay flat_ray(float u, std::uint32_t view) const;
  Line line_of(const FlatRay& ray, int axis) const;

  RayTable table_;
  Projector::Named projector_;
  std::uint32_t columns_, views_, nx_, ny_, first_column_ = 0;  // columns_: of the detector
  double margin_;
};

}  // namespace halocline
