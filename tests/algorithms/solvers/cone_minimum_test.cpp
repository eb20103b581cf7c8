// labels: device nightly
// A cone beam scan with counts: SPDHG is near the minimiser after 30 passes in every slice, also far from the plane of
// the source.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "tests/reference/iterative_problems.hpp"
#include "tests/support/reconstruct_run.hpp"

namespace halocline::cone_minimum_test {
namespace {

constexpr double water = 0.02;  // per mm

// 40 x 40 x 24 voxels of 2 mm, 60 views of 72 x 48 pixels of 2 mm, 2e4 photons a ray.
MeasuredScan measured() {
  CircularOptions options;
  options.sid = 200;
  options.sdd = 300;
  options.projections = 60;
  MeasuredScan scan{.scene = {"cone", circular_geometry(options), reference::detector(72, 48, 60, 2, 2),
                              default_grid({40, 40, 24}, {2, 2, 2})},
                    .b = {}};
  const Volume object = voxelise(PhantomType::shepp_logan_hc, scan.scene.grid, 76, water);
  const Volume exact = project(object, scan.scene.geometry, scan.scene.projections, reference::device()).output;
  const auto counts = reference::counted(reference::vector_of(exact), 2e4, 5);
  scan.b = reference::volume_of(scan.scene.projections, counts.b);
  scan.w = reference::volume_of(scan.scene.projections, counts.w);
  FdkParameters parameters;
  parameters.log_notes = false;
  scan.start = fdk(scan.b, scan.scene.geometry, scan.scene.grid, parameters, reference::device()).output;
  return scan;
}

TEST(ConeMinimum, IsReachedInEverySliceInThirtyPasses) {
  const MeasuredScan scan = measured();
  ReconstructionParameters parameters;
  parameters.subsets = 30;
  parameters.lambda = 1200;
  parameters.regulariser.minimum = 0;
  parameters.regulariser.maximum = 0.1;
  parameters.gap = 0;
  const auto after = [&](int passes) {
    parameters.passes = passes;
    return scan.reconstructed(parameters);
  };
  const auto end = after(160), thirty = after(30);
  EXPECT_LT(end.result.history.back().relative_gap, 1e-3);
  const auto vector = [](const Volume& x) { return reference::vector_of(x); };
  EXPECT_LT(reference::rms_difference(vector(thirty.x), vector(end.x)), 4.5e-4 * water);
  const std::size_t slice = scan.scene.grid.slice();
  double worst = 0;
  for (std::size_t k = 0; k < scan.scene.grid.size[2]; ++k) {
    double square = 0;
    for (std::size_t n = k * slice; n < (k + 1) * slice; ++n)
      square += std::pow(thirty.x.voxels[n] - end.x.voxels[n], 2);
    worst = std::max(worst, std::sqrt(square / static_cast<double>(slice)));
  }
  EXPECT_LT(worst, 6e-4 * water);
}

}  // namespace
}  // namespace halocline::cone_minimum_test
