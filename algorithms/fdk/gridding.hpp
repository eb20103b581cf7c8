// Filtered back-projection of parallel beams in Fourier space, by gridding (O'Sullivan 1985): O(N^2 log N) operations a
// slice in place of O(N^3).
#pragma once

#include <algorithm>
#include <span>

#include "algorithms/fdk/fdk_filter.hpp"
#include "algorithms/fdk/gridding_frame.hpp"
#include "algorithms/projectors/backprojection_method.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

/// The sum of Fdk, but that filtered rows are interpolated by their trigonometric polynomial (Fdk: linearly), and are
/// continued beyond the detector by the filter's response to zeros there (Fdk: by nothing). All views of a slab are one
/// batch; slices are made a few pairs of detector rows at a time (cl/gridding.cl).
class Gridding : public BackprojectionMethod {
 public:
  /// For a scan that check_gridding() accepts. devices: those that run it; they decide how many pairs are made at a
  /// time, which changes no bit.
  Gridding(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
           std::span<const DeviceModel> devices = {});
  Requirements requirements() const override;
  std::vector<int> order() const override { return frame_.order; }
  void start(Slab& slab) const override;
  /// Does nothing: rows are filtered as slices need them.
  void filter(Slab&, Range, const Scalars&) const override {}
  Range rows_read(Range rows) const override { return filter_.rows_read(rows); }
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override;

 private:
  KernelSpec kernel(const char* name, const DeviceInfo& device) const;
  std::size_t pairs_an_item(const DeviceInfo& device) const {
    return std::min<std::size_t>(pairs_, device.cpu() ? 8 : 4);
  }
  void make_images(Slab& slab, Range views, Range pairs) const;

  Grid grid_;
  FdkFilter filter_;
  GriddingFrame frame_;
  std::size_t pairs_;  // of rows at a time
};

}  // namespace halocline
