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
    const double nonzeros = static_cast<double>(rays.nonzeros()), expected = static_cast<double>(pairs.size());
    EXPECT_NEAR(nonzeros, expected, 0.01 * expected);
  }
}

using TileNumber = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;  // by ray tile and pixel tile

TileNumber numbers_by_rays(const TileStructure& s) {
  TileNumber numbers;
  const auto &begins = s.ray_super_begins, &places = s.ray_super_places;
  EXPECT_EQ(begins.size(), 2 * (s.rays.tiles() / super_ray_tiles + 1));
  for (std::uint32_t super = 0; 2 * super + 2 < begins.size(); ++super) {
    EXPECT_EQ(begins[2 * super + 1], numbers.size());
    for (std::uint32_t at = begins[2 * super]; at < begins[2 * super + 2]; ++at) {
      const std::uint32_t pixel_tile = places[at] >> super_ray_tiles, mask = places[at] % 256;
      EXPECT_NE(mask, 0u);
      if (at > begins[2 * super]) {
        EXPECT_LT(places[at - 1] >> super_ray_tiles, pixel_tile);
      }
      for (std::uint32_t n = 0; n < super_ray_tiles; ++n)
        if ((mask >> n & 1) != 0) numbers.emplace(std::pair(super_ray_tiles * super + n, pixel_tile), numbers.size());
    }
  }
  EXPECT_EQ(begins.back(), numbers.size());
  EXPECT_EQ(begins[begins.size() - 2], places.size());
  return numbers;
}

// Expects the tiles of super-tile n of pixel_super_begins to be those of `numbers`, each once over all chunks.
void expect_super_of_pixels(const TileStructure& s, std::size_t n, std::uint32_t super, std::uint32_t first_tile,
                            const TileNumber& numbers, std::set<std::uint32_t>& seen) {
  const auto &begins = s.pixel_super_begins, &places = s.pixel_super_places;
  for (std::uint32_t at = begins[n]; at < begins[n + 1]; ++at) {
    const std::uint32_t ray_tile = places[at] >> super_pixel_tiles, mask = places[at] % 16;
    EXPECT_NE(mask, 0u);
    if (at > begins[n]) {
      EXPECT_LT(places[at - 1] >> super_pixel_tiles, ray_tile);
    }
    for (std::uint32_t t = 0; t < super_pixel_tiles; ++t) {
      if ((mask >> t & 1) == 0) continue;
      const std::uint32_t number = first_tile + s.pixel_super_tiles[super_pixel_tiles * at + t];
      EXPECT_EQ(numbers.at({ray_tile, super_pixel_tiles * super + t}), number);
      EXPECT_TRUE(seen.insert(number).second);
    }
  }
}

TEST_P(TilesOfScenes, HaveListsThatAgree) {
  for (const std::uint64_t chunk_bytes : {one_chunk, std::uint64_t{tile_bytes} * 400}) {
    const TileStructure s = tile_structure(rays, {2, 4}, chunk_bytes);
    const TileNumber numbers = numbers_by_rays(s);
    ASSERT_EQ(s.tiles(), numbers.size());
    std::uint32_t super = 0, tile = 0;
    std::set<std::uint32_t> seen;
    const std::size_t supers = s.supers_of_pixels();
    ASSERT_EQ(s.pixel_super_begins.size(), s.chunks.size() * (supers + 1));
    ASSERT_EQ(s.pixel_super_tiles.size(), super_pixel_tiles * s.pixel_super_places.size());
    for (std::size_t c = 0; c < s.chunks.size(); ++c) {
      const TileChunk& chunk = s.chunks[c];
      ASSERT_EQ(chunk.super_begin, super);
      ASSERT_EQ(chunk.begin, tile);
      super = chunk.super_end, tile = chunk.end;
      ASSERT_LE(std::uint64_t{chunk.end - chunk.begin} * tile_bytes, chunk_bytes);
      for (std::uint32_t each = 0; each < supers; ++each)
        expect_super_of_pixels(s, c * (supers + 1) + each, each, chunk.begin, numbers, seen);
      ASSERT_EQ(seen.size(), tile);
    }
    ASSERT_EQ(super, s.rays.tiles() / super_ray_tiles);
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
  EXPECT_EQ(one.ray_super_begins, many.ray_super_begins);
  EXPECT_EQ(one.ray_super_places, many.ray_super_places);
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
      testing::MatchesRegex("64 rays of `geometry` take [0-9]+ bytes of a system matrix, more than a buffer of 256"));
}

}  // namespace
}  // namespace halocline::tile_structure_test
