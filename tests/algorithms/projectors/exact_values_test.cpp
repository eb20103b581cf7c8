// labels: unit
// The evaluators of single voxels and rays against the oracles that compute all of them.
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/projectors/float64_reference.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/reference/variant_reference.hpp"

namespace halocline::exact_values_test {
namespace {

using reference::Scene;

constexpr double rounding = 1e-11;  // of sums of some hundred doubles, whose coordinates are computed in two ways

ValueAt values_of(const Volume& volume) {
  return [&](std::size_t x, std::size_t y, std::size_t z) { return static_cast<double>(volume.at(x, y, z)); };
}

// Every `step`-th element of a grid, with its number.
template <class Work>
void for_elements(const Grid& grid, std::size_t step, Work&& work) {
  for (std::size_t n = 0; n < grid.count(); n += step)
    work(n, Index3{n % grid.size[0], n / grid.size[0] % grid.size[1], n / grid.slice()});
}

class ExactValues : public testing::TestWithParam<Scene> {
 protected:
  const Scene& scene() const { return GetParam(); }
  ExactScan scan() const { return {scene().geometry, scene().grid, scene().projections}; }
};

TEST_P(ExactValues, ProjectAndBackprojectAsTheOraclesDo) {
  const Volume volume = reference::random_volume(scene().grid, 3),
               stack = reference::random_volume(scene().projections, 4);
  for (const Projector projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
    const auto rays = reference::project(projector, volume, scene().geometry, scene().projections);
    const auto voxels = reference::backproject(projector, stack, scene().geometry, scene().grid);
    const double largest_ray = reference::largest(rays), largest_voxel = reference::largest(voxels);
    ASSERT_GT(largest_ray * largest_voxel, 0);
    for_elements(scene().projections, 7, [&](std::size_t n, const Index3& pixel) {
      const auto found = exact_projection(scan(), projector, pixel, values_of(volume));
      ASSERT_NEAR(found.value, rays[n], rounding * largest_ray) << projector_name(projector) << " ray " << n;
      if (rays[n] != 0) {
        ASSERT_GT(found.terms, 0u);
      }
    });
    for_elements(scene().grid, 5, [&](std::size_t n, const Index3& voxel) {
      const auto found = exact_adjoint(scan(), projector, voxel, values_of(stack));
      ASSERT_NEAR(found.value, voxels[n], rounding * largest_voxel) << projector_name(projector) << " voxel " << n;
    });
  }
}

TEST_P(ExactValues, InterpolateAsTheOracleDoes) {
  const Volume stack = reference::random_volume(scene().projections, 4);
  const std::vector<double> values(stack.voxels.begin(), stack.voxels.end());
  reference::Weights weights;
  weights.distance = !scene().geometry.parallel();
  const auto expected = reference::backproject(values, scene().projections, scene().geometry, scene().grid, weights);
  for_elements(scene().grid, 5, [&](std::size_t n, const Index3& voxel) {
    const std::array<double, 3> at{static_cast<double>(voxel[0]), static_cast<double>(voxel[1]),
                                   static_cast<double>(voxel[2])};
    ASSERT_NEAR(exact_backprojection(scan(), at, values_of(stack)), expected[n],
                rounding * reference::largest(expected))
        << n;
  });
}

INSTANTIATE_TEST_SUITE_P(Scenes, ExactValues, testing::ValuesIn(reference::scenes()),
                         [](const auto& each) { return each.param.name; });

TEST(ExactFdk, IsTheOracles) {
  CircularOptions options;
  options.sid = 100;
  options.sdd = 150;
  options.projections = 25;
  options.projection_offset_x = 1.3;
  options.projection_offset_y = -0.7;
  const Geometry geometry = circular_geometry(options);
  const Volume stack = reference::random_volume(reference::detector(31, 9, 25, 1.5, 2), 5);
  Grid grid = default_grid({7, 5, 3}, {2.5, 2, 1.5});
  grid.origin[0] += 3;
  const auto expected = reference::fdk(stack, geometry, grid, {});
  for_elements(grid, 1, [&](std::size_t n, const Index3& voxel) {
    const double found =
        exact_fdk({geometry, grid, stack.grid},
                  {static_cast<double>(voxel[0]), static_cast<double>(voxel[1]), static_cast<double>(voxel[2])},
                  values_of(stack));
    ASSERT_NEAR(found, expected[n], rounding * reference::largest(expected)) << n;
  });
}

}  // namespace
}  // namespace halocline::exact_values_test
