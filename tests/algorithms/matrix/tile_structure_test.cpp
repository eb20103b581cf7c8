// labels: unit
// Tiles of a system matrix: none of the weights in double precision is missed, and all lists agree.
#include "algorithms/matrix/tile_structure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>
#include <utility>

#include "tests/algorithms/matrix/matrix_scenes.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::tile_structure_test {
namespace {

using namespace matrix_test;

constexpr std::uint64_t one_chunk = std::uint64_t{1} << 40;

class TilesOfScenes : public testing::TestWithParam<MatrixScene> {
 protected:
  const MatrixScene& each = GetParam();
  const SliceRays rays = rays_of(each);
};

// Weights that are rounding (a ray through a voxel's corner, say) may be one thing in double and another in float32.
TEST_P(TilesOfScenes, HoldEveryWeight) {
  for (const Size2& shape : ray_tile_shapes) {
    const TileStructure structure = tile_structure(rays, shape, one_chunk);
    const ListedTiles listed(structure);
    std::set<std::size_t> needed;
    std::set<std::pair<std::size_t, std::size_t>> pairs;
    reference::weights(each.projector, each.scene.grid, each.scene.geometry, each.scene.projections,
                       [&](std::size_t ray, std::size_t voxel, double weight) {
                         if (!(weight > 0)) return;
                         ASSERT_TRUE(listed.hold(ray, voxel)) << ray << ' ' << voxel << ' ' << weight;
                         if (weight < 1e-4) return;
                         needed.insert(listed.place_of(ray, voxel));
                         pairs.emplace(ray, voxel);
                       });
    // few are listed for nothing: rays along lines of voxels meet those beside by the margin
    EXPECT_LE(structure.tiles(), needed.size() + needed.size() / 4) << shape[0];
    const TileCounts counts = count_tiles(rays, structure.rays, structure.pixels);
    EXPECT_EQ(structure.tiles(), counts.tiles);
    EXPECT_EQ(structure.super_places.size(), counts.of_fours);
    const double nonzeros = static_cast<double>(rays.nonzeros()), expected = static_cast<double>(pairs.size());
    EXPECT_NEAR(nonzeros, expected, 0.01 * expected);
  }
}

TEST_P(TilesOfScenes, HaveListsThatAgree) {
  for (const std::uint64_t chunk_bytes : {one_chunk, std::uint64_t{tile_bytes} * 200}) {
    const TileStructure s = tile_structure(rays, {2, 4}, chunk_bytes);
    ASSERT_EQ(s.ray_begin.size(), s.rays.tiles() + 1);
    ASSERT_EQ(s.super_begin.size(), s.rays.tiles() / 4 + 1);
    ASSERT_EQ(s.ray_begin.back(), s.tiles());
    ASSERT_EQ(s.super_begin.back(), s.super_places.size());
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;  // of ray tile and pixel tile
    for (std::uint32_t super = 0; super + 1 < s.super_begin.size(); ++super) {
      ASSERT_EQ(s.ray_begin[4 * super], numbers.size());
      std::array<std::uint32_t, 4> next{};
      for (std::uint32_t n = 0; n < 4; ++n) next[n] = s.ray_begin[4 * super + n];
      for (std::uint32_t place = s.super_begin[super]; place < s.super_begin[super + 1]; ++place) {
        const std::uint32_t pixel_tile = s.super_places[place] / 16, mask = s.super_places[place] % 16;
        ASSERT_NE(mask, 0u);
        if (place > s.super_begin[super]) {
          ASSERT_LT(s.super_places[place - 1] / 16, pixel_tile);
        }
        for (std::uint32_t n = 0; n < 4; ++n)
          if ((mask >> n & 1) != 0) {
            ASSERT_EQ(s.pixel_tiles[next[n]++], pixel_tile);
            numbers.emplace(std::pair(4 * super + n, pixel_tile), numbers.size());
          }
      }
      for (std::uint32_t n = 0; n < 4; ++n) ASSERT_EQ(next[n], s.ray_begin[4 * super + n + 1]);
    }
    std::uint32_t super = 0, tile = 0;
    const std::size_t pixels = s.pixels.tiles();
    ASSERT_EQ(s.pixel_begin.size(), s.chunks.size() * (pixels + 1));
    for (std::size_t c = 0; c < s.chunks.size(); ++c) {
      const TileChunk& chunk = s.chunks[c];
      ASSERT_EQ(chunk.super_begin, super);
      ASSERT_EQ(chunk.begin, tile);
      super = chunk.super_end, tile = chunk.end;
      ASSERT_LE(std::uint64_t{chunk.end - chunk.begin} * tile_bytes, chunk_bytes);
      ASSERT_EQ(s.pixel_begin[c * (pixels + 1)], chunk.begin);
      ASSERT_EQ(s.pixel_begin[c * (pixels + 1) + pixels], chunk.end);
      for (std::uint32_t pixel = 0; pixel < pixels; ++pixel)
        for (std::uint32_t at = s.pixel_begin[c * (pixels + 1) + pixel];
             at < s.pixel_begin[c * (pixels + 1) + pixel + 1]; ++at) {
          const std::uint32_t number = chunk.begin + s.tiles_of_pixels[at];
          ASSERT_EQ(numbers.at({s.ray_tiles[at], pixel}), number);
          if (at > s.pixel_begin[c * (pixels + 1) + pixel]) {
            ASSERT_LT(s.tiles_of_pixels[at - 1], s.tiles_of_pixels[at]);
          }
        }
    }
    ASSERT_EQ(super + 1, s.super_begin.size());
    ASSERT_EQ(tile, s.tiles());
  }
}

INSTANTIATE_TEST_SUITE_P(All, TilesOfScenes, testing::ValuesIn(matrix_scenes()),
                         [](const auto& test) { return name_of(test.param); });

TEST(TileStructure, IsTheSameOfAnySliceAndRow) {
  const auto scene = [](std::size_t slices) {
    return MatrixScene{
        slice_scene("", reference::detector(29, slices, 1, 1.25, 1), default_grid({13, 9, slices}, {2, 2, 1})),
        Projector::joseph};
  };
  const TileStructure one = tile_structure(rays_of(scene(1)), {2, 4}, one_chunk),
                      many = tile_structure(rays_of(scene(7)), {2, 4}, one_chunk);
  EXPECT_EQ(one.ray_begin, many.ray_begin);
  EXPECT_EQ(one.pixel_tiles, many.pixel_tiles);
}

TEST(TileStructure, RefusesRaysThatLeaveSlices) {
  const std::string expected = "`geometry` has rays that leave the slices, run between them or end in them";
  const auto refused = [](const reference::Scene& scene) {
    return refusal_of([&] { rays_of({scene, Projector::joseph}); });
  };
  for (const char* name : {"cone", "cone_tilted", "parallel_tilted"})
    EXPECT_THAT(refused(reference::scene_named(name)), testing::StartsWith(expected)) << name;
  reference::Scene between = slice_scene("", reference::detector(29, 1, 1, 1, 1), default_grid({13, 9, 2}, {2, 2, 1}));
  EXPECT_THAT(refused(between), testing::StartsWith(expected));
}

TEST(TileStructure, RefusesSlicesThatAreTooLarge) {
  const reference::Scene large =
      slice_scene("", reference::detector(2, 1, 1, 1, 1), default_grid({8192, 4097, 1}, {1, 1, 1}));
  EXPECT_EQ(refusal_of([&] {
              rays_of({large, Projector::joseph});
            }),
            "`volume` has 8192 x 4097 voxels in a slice; a system matrix takes at most 2^25");
}

TEST(TileStructure, RefusesBuffersOfLessThanASuperTile) {
  const SliceRays rays = rays_of(matrix_scenes().front());
  EXPECT_THAT(
      refusal_of([&] {
        tile_structure(rays, {2, 4}, 256);
      }),
      testing::MatchesRegex("32 rays of `geometry` take [0-9]+ bytes of a system matrix, more than a buffer of 256"));
}

}  // namespace
}  // namespace halocline::tile_structure_test
