// Joseph's adjoint with slices innermost, for scans whose rays run within slices and whose rows are on slices.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/projectors/backprojection_method.hpp"
#include "algorithms/projectors/joseph_slices.hpp"
#include "algorithms/projectors/projector.hpp"

namespace halocline {

/// cl/joseph_slices_adjoint.cl: bitwise what RayBackprojection computes with Projector::joseph.
class SliceBackprojection : public BackprojectionMethod {
 public:
  /// Throws std::logic_error if slice_rows() says that rows are not on slices.
  SliceBackprojection(const Geometry& geometry, const Grid& projections, const Grid& volume);
  Requirements requirements() const override;
  void start(Slab& slab) const override;
  ViewTables view_tables() const override;
  void filter(Slab& slab, Range views, const Scalars& scalars) const override;
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override;

 private:
  /// Slices of the slab whose rows it holds.
  Range slices_with_rows(const Slab& slab) const;

  Grid projections_, volume_;
  RayTable table_;
  SliceRows rows_;
  std::vector<float> matrices_, footprints_;  // 12 and 8 a view
  bool near_ = true;                          // three columns hold all that a view's rays weigh at a voxel
  std::function<Range(Range)> detector_rows_;
};

/// The method, if the scan allows it and the devices are faster with it (slices_innermost_pay()); nullptr if not.
std::shared_ptr<const BackprojectionMethod> faster_in_slices(const Geometry& geometry, const Grid& projections,
                                                             const Grid& volume, Projector projector,
                                                             std::span<const DeviceModel> devices);

}  // namespace halocline
