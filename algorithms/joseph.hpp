// Forward projection of a volume (Joseph 1982) for parallel, fan and cone beam.
#pragma once

#include <vector>

#include "algorithms/geometry.hpp"
#include "scheduling/projection.hpp"

namespace halocline {

/// Line integrals from the source (parallel beam: along the view's direction) through the pixel centres, by bilinear
/// interpolation on the planes of the index axis that a ray follows most; the volume is zero outside the centres of its
/// outermost voxels' neighbours. Rays are whole lines: the volume is expected between source and detector.
class Joseph : public ProjectionMethod {
 public:
  Joseph(const Geometry& geometry, const Grid& volume, const Grid& projections);
  Requirements requirements() const override;
  void start(Slab& slab) const override;
  void project(Slab& slab, Range views) const override;

 private:
  Grid volume_, projections_;
  std::vector<float> rays_;  // 18 a view
};

/// Projections of `volume` on the stack `projections` (u, v, view). Throws InputError as check_projections and
/// check_grid do, PlanError, ClError, BuildError, Interrupted.
RunResult project(const Volume& volume, const Geometry& geometry, const Grid& projections,
                  const std::vector<Device>& devices, const RunOptions& options = {});

/// What project() would do.
Plan plan_project(const Geometry& geometry, const Grid& volume, const Grid& projections,
                  const std::vector<DeviceBudget>& budgets, const PlanOptions& options = {});

}  // namespace halocline
