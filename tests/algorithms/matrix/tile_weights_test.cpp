// labels: device
// Tiles of a system matrix hold every weight that the kernels of the projectors compute in float32.
#include <gtest/gtest.h>

#include "tests/algorithms/matrix/matrix_scenes.hpp"

namespace halocline::tile_weights_test {
namespace {

using namespace matrix_test;

class TilesOfProjectors : public testing::TestWithParam<MatrixScene> {};

// The columns of the matrix: projections of slices with one voxel that is 1.
TEST_P(TilesOfProjectors, HoldEveryWeight) {
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

// Pixels of one tile are 1: roundings grow with the slice.
TEST(TilesOfLargeSlices, HoldEveryWeight) {
  constexpr std::size_t size = 600;
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    for (const double sdd : {0.0, 500.0}) {
      const MatrixScene scene{slice_scene("", reference::detector(size, 1, 1, sdd > 0 ? 0.9 : 0.4, 1),
                                          default_grid({size, size, 1}, {0.3, 0.3, 1}), sdd, 0.1),
                              projector};
      const TileStructure structure = tile_structure(rays_of(scene), {2, 4}, std::uint64_t{1} << 40);
      const ListedTiles listed(structure);
      for (std::uint32_t tile = 0; tile < structure.pixels.tiles(); tile += 977) {
        Volume slice(scene.scene.grid);
        std::size_t one = slice.voxels.size();
        for (std::uint32_t place = 16 * tile; place < 16 * (tile + 1); ++place) {
          if (!structure.pixels.has_element(place)) continue;
          const Size2 at = structure.pixels.element_at(place);
          one = at[0] + size * at[1];
          slice.voxels[one] = 1;
        }
        if (one == slice.voxels.size()) continue;
        const Voxels rays =
            project(slice, scene.scene.geometry, scene.scene.projections, {projector}, reference::device())
                .output.voxels;
        for (std::size_t ray = 0; ray < rays.size(); ++ray) {
          if (rays[ray] != 0) {
            ASSERT_TRUE(listed.hold(ray, one)) << ray << ' ' << tile << ' ' << rays[ray];
          }
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(All, TilesOfProjectors, testing::ValuesIn(matrix_scenes()),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace halocline::tile_weights_test
