// labels: device
// Geometries at the limits of float32: sources as far as those of parallel beams, and detectors too large.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/coordinate_error.hpp"
#include "algorithms/projectors/projector.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::far_source_test {
namespace {

// A source so far away that rays are parallel: the same image as of a parallel beam, by all that read the geometry.
TEST(FarSource, IsAParallelBeam) {
  CircularOptions options;
  options.projections = 18;
  options.first_angle = 11;
  options.sdd = 0;
  const Geometry parallel = circular_geometry(options);
  options.sid = 5e8;
  options.sdd = 7.5e8;
  const Geometry far = circular_geometry(options);
  const Grid stack = reference::detector(32, 20, 18, 1, 1), magnified = reference::detector(32, 20, 18, 1.5, 1.5),
             grid = default_grid({20, 20, 12}, {1, 1, 1});
  EXPECT_LT(worst_coordinate_error(far, grid, magnified).error, 1e-4);
  const Volume volume = reference::random_volume(grid, 3);
  Volume rays = reference::random_volume(stack, 4), same = rays;
  same.grid = magnified;
  const auto expect_alike = [](const Volume& a, const Volume& b) {
    double largest = 0, apart = 0;
    for (std::size_t n = 0; n < a.voxels.size(); ++n) {
      largest = std::max(largest, std::abs(static_cast<double>(a.voxels[n])));
      apart = std::max(apart, std::abs(static_cast<double>(a.voxels[n]) - b.voxels[n]));
    }
    EXPECT_LT(apart, 1e-4 * largest);
  };
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
    SCOPED_TRACE(projector_name(projector));
    const auto& devices = reference::device();
    expect_alike(project(volume, parallel, stack, {projector}, devices).output,
                 project(volume, far, magnified, {projector}, devices).output);
    expect_alike(backproject(rays, parallel, grid, projector, devices).output,
                 backproject(same, far, grid, projector, devices).output);
  }
  expect_alike(fdk(rays, parallel, grid, {}, reference::device()).output,
               fdk(same, far, grid, {}, reference::device()).output);
  expect_alike(backproject(rays, parallel, grid, BackprojectionParameters{}, reference::device()).output,
               backproject(same, far, grid, BackprojectionParameters{}, reference::device()).output);
}

TEST(FarSource, CoordinatesThatFloat32LosesAreRefused) {
  CircularOptions options;
  options.projections = 4;
  options.first_angle = 11;
  options.sid = 6.4e5;  // so that pixels are alike all over the detector
  options.sdd = 9.6e5;
  const Geometry geometry = circular_geometry(options);
  Grid stack = reference::detector(256000000, 2, 4, 0.001, 0.001),
       grid = default_grid({10, 10, 10}, {0.001, 0.001, 0.001});
  EXPECT_THROW(check_coordinates(geometry, default_grid({4000000, 10, 2}, {0.001, 0.001, 0.001}), stack), InputError);
  EXPECT_NO_THROW(make_rays(geometry, grid, stack));
  stack.origin[0] = -255999.999;  // the volume is seen by the last column
  EXPECT_THROW(make_rays(geometry, grid, stack), InputError);
}

}  // namespace
}  // namespace halocline::far_source_test
