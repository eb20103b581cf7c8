// labels: device
// Tiles of a system matrix hold every weight that the kernels of the projectors compute in float32.
#include <gtest/gtest.h>

#include "tests/algorithms/matrix/matrix_scenes.hpp"

namespace halocline::tile_weights_test {
namespace {

using namespace matrix_test;

class TilesOfKernels : public testing::TestWithParam<MatrixScene> {};

// The columns of the matrix: projections of slices with one voxel that is 1.
TEST_P(TilesOfKernels, HoldEveryWeight) {
  const auto& [scene, projector] = GetParam();
  const SliceRays rays = rays_of(GetParam());
  const TileStructure structure = tile_structure(rays, choose_ray_shape(rays), std::uint64_t{1} << 40);
  const ListedTiles listed(structure);
  std::size_t nonzeros = 0;
  for (std::size_t voxel = 0; voxel < scene.grid.count(); voxel += voxel % 3 == 0 ? 1 : 4) {
    Volume slice(scene.grid);
    slice.voxels[voxel] = 1;
    const Voxels column =
        project(slice, scene.geometry, scene.projections, {projector}, reference::device()).output.voxels;
    for (std::size_t ray = 0; ray < column.size(); ++ray) {
      if (column[ray] == 0) continue;
      ++nonzeros;
      ASSERT_TRUE(listed.hold(ray, voxel)) << ray << ' ' << voxel << ' ' << column[ray];
    }
  }
  EXPECT_GT(nonzeros, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, TilesOfKernels, testing::ValuesIn(matrix_scenes()),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace halocline::tile_weights_test
