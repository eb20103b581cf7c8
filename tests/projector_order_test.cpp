// labels: device slow
// How fast the projectors come to the exact line integrals as voxels and pixels shrink together.
//
// A volume holds the means of its voxels, so what is missing is what blurring an object of sharp edges over h changes.
// d away from where rays graze a smooth edge a line integral grows as sqrt(d): its second derivative is d^(-3/2), and
// the blur changes it by h^2 d^(-3/2), and by sqrt(h) within h of the edge. The squares of both add up to h^2 over the
// detector: the root mean square falls with the first power of h, whatever the projector, and an object without edges
// would make it fall with the second.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/phantoms.hpp"
#include "algorithms/projector.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline {
namespace {

using reference::device;

/// Root mean square difference from exact line integrals over the largest of them: n^3 voxels, pixels of the voxels'
/// size at the isocentre.
double error_of(const std::vector<Primitive>& object, Projector projector, std::size_t n, bool parallel) {
  CircularOptions options;
  options.sid = 500;
  options.sdd = parallel ? 0 : 750;
  options.projections = 5;
  options.first_angle = 7;
  options.out_of_plane_angle =
      3;  // no rows of rays run along planes of voxels, at some n on them and at others between
  options.in_plane_angle = 2;
  const Geometry geometry = circular_geometry(options);
  const double voxel = 192 / static_cast<double>(n), pixel = parallel ? voxel : 1.5 * voxel;
  const auto pixels = static_cast<std::size_t>(1.2 * static_cast<double>(n));
  const Grid projections = reference::detector(pixels, pixels, 5, pixel, pixel);
  const Volume expected = project_analytic(object, geometry, projections);
  const Volume volume = voxelise(object, default_grid({n, n, n}, {voxel, voxel, voxel}), 4);
  const Volume found = project(volume, geometry, projections, {projector}, device()).output;
  double squares = 0, largest = 0;
  for (std::size_t at = 0; at < expected.voxels.size(); ++at) {
    squares += std::pow(static_cast<double>(found.voxels[at]) - expected.voxels[at], 2);
    largest = std::max(largest, static_cast<double>(expected.voxels[at]));
  }
  return std::sqrt(squares / static_cast<double>(expected.voxels.size())) / largest;
}

class ProjectorOrder : public testing::TestWithParam<Projector> {};

TEST_P(ProjectorOrder, IsTheFirst) {
  std::vector<Primitive> spheres(2);
  spheres[0].semi_axes = {30, 30, 30};
  spheres[0].centre = {35, -20, 25};
  spheres[0].value = 0.02;
  spheres[1].semi_axes = {22, 22, 22};
  spheres[1].centre = {-45, 30, -10};
  spheres[1].value = 0.03;
  for (const bool parallel : {false, true}) {
    std::vector<double> errors;
    for (const std::size_t n : {32, 64, 128}) errors.push_back(error_of(spheres, GetParam(), n, parallel));
    const double order = 0.5 * std::log2(errors[0] / errors[2]);
    std::printf("%s, %s beam: %.3f %% at 32, %.3f %% at 64, %.3f %% at 128, order %.2f\n",
                projector_name(GetParam()).c_str(), parallel ? "parallel" : "cone", 100 * errors[0], 100 * errors[1],
                100 * errors[2], order);
    EXPECT_GT(order, 0.9);  // a projector that is wrong by a part of a voxel stays above
    EXPECT_LT(errors[1], 0.62 * errors[0]);
    EXPECT_LT(errors[2], 0.62 * errors[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProjectorOrder,
                         testing::Values(Projector::joseph, Projector::siddon, Projector::distance_driven),
                         [](const auto& info) {
                           std::string name = projector_name(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace halocline
