// labels: unit
// Figures of a system matrix: counted by hand on a small scan, and the paper's.
#include "algorithms/matrix/matrix_size.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/algorithms/matrix/matrix_scenes.hpp"
#include "tests/reference/projector_reference.hpp"

namespace halocline::matrix_size_test {
namespace {

using namespace matrix_test;

SliceRays parallel(std::size_t size, std::size_t views, std::size_t columns, Projector::Named projector) {
  CircularOptions options;
  options.sid = 1000, options.sdd = 0, options.arc = 180, options.projections = views;
  const double pitch = static_cast<double>(size) / static_cast<double>(columns);
  return {circular_geometry(options), default_grid({size, size, 1}, {1, 1, 1}),
          reference::detector(columns, 1, views, pitch, 1), projector};
}

// Rays through no corner and along no line of voxels: what is listed is what is needed.
TEST(MatrixSize, CountsBlocksBeforeAndAfter) {
  CircularOptions options;
  options.sid = 100, options.sdd = 0, options.angles = {3, 17, 31, 58, 77, 101, 139, 163};
  const Grid detector = reference::detector(32, 1, 8, 0.57, 1), grid = default_grid({16, 16, 1}, {1, 1, 1});
  const Geometry geometry = circular_geometry(options);
  const SliceRays rays(geometry, grid, detector, Projector::joseph);
  const MatrixSize size = matrix_size(rays);
  std::map<std::string, std::set<std::size_t>> before;
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  reference::weights(Projector::joseph, grid, geometry, detector,
                     [&](std::size_t ray, std::size_t voxel, double weight) {
                       if (!(weight > 0)) return;
                       pairs.emplace(ray, voxel);
                       for (const BlockCounts& each : size.blocks)
                         before[each.fragment].insert(ray / each.rays * 16 + voxel / 16);
                     });
  EXPECT_EQ(size.rays, 256u);
  EXPECT_EQ(size.pixels, 256u);
  EXPECT_EQ(size.nonzeros, pairs.size());
  EXPECT_DOUBLE_EQ(size.sparsity(), 1 - static_cast<double>(pairs.size()) / 65536);
  EXPECT_EQ(size.csr_bytes(), 8 * pairs.size() + 4 * 257);
  ASSERT_EQ(size.blocks.size(), 3u);
  for (const BlockCounts& each : size.blocks) {
    EXPECT_EQ(each.before, before[each.fragment].size()) << each.fragment;
    EXPECT_EQ(each.blocks, 65536u / 16 / each.rays);
    EXPECT_EQ(each.shape[0] * each.shape[1], each.rays);
    EXPECT_EQ(each.bytes(), each.after * (32 * each.rays + 4));
  }
  EXPECT_EQ(size.blocks[2].after, *std::min_element(size.tiles.begin(), size.tiles.end()));
  EXPECT_EQ(size.shape, choose_ray_shape(rays));
}

// Views that are far apart share fewer voxels: tiles of more detector pixels are fuller.
TEST(MatrixSize, ShapesFollowTheViews) {
  EXPECT_EQ(choose_ray_shape(parallel(128, 45, 128, Projector::joseph)), (Size2{4, 2}));
  EXPECT_EQ(choose_ray_shape(parallel(128, 360, 128, Projector::joseph)), (Size2{2, 4}));
  EXPECT_EQ(choose_ray_shape(parallel(128, 5, 256, Projector::joseph)), (Size2{8, 1}));
}

// Table 3 of Nourazar & Goossens (2021), of 512^2 pixels and 720 x 512 rays; their scan has a geometry of its own.
TEST(MatrixSize, IsNearThePapers) {
  const MatrixSize size = matrix_size(parallel(512, 720, 512, Projector::distance_driven));
  EXPECT_NEAR(static_cast<double>(size.nonzeros), 321.9e6, 0.05 * 321.9e6);
  const std::map<std::string, std::array<double, 2>> percent{
      {"16.16.16", {5.19, 2.01}}, {"32.8.16", {8.83, 2.57}}, {"8.32.16", {3.36, 1.55}}};
  for (const BlockCounts& each : size.blocks) {
    const auto [before, after] = percent.at(each.fragment);
    const double all = 0.01 * static_cast<double>(each.blocks);
    EXPECT_NEAR(static_cast<double>(each.before) / all, before, 0.12 * before) << each.fragment;
    EXPECT_NEAR(static_cast<double>(each.after) / all, after, 0.1 * after) << each.fragment;
  }
}

}  // namespace
}  // namespace halocline::matrix_size_test
