// The tiles of a slice's system matrix that are not empty: 8 rays x 16 pixels each, in half precision. Counted and
// listed on the host, without a device; a kernel computes their weights. A tile may be listed whose weights are all 0,
// but no weight lies outside the tiles listed (SliceRays::margin()).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/matrix/slice_rays.hpp"
#include "algorithms/matrix/tile_order.hpp"

namespace halocline {

inline constexpr std::uint32_t tile_rays = 8, tile_pixels = 16;
inline constexpr std::uint32_t tile_bytes = 2 * tile_rays * tile_pixels;
/// Ray tiles of a super-tile, which are read with one tile of pixels.
inline constexpr std::uint32_t super_ray_tiles = 4;

/// Detector pixels x views of a ray tile. A tile of pixels is 4 x 4.
inline constexpr Size2 ray_tile_shapes[] = {{2, 4}, {4, 2}, {8, 1}};
/// Rays, x: detector pixels, y: views; a group is a super-tile.
TileOrder ray_order(const SliceRays& rays, const Size2& shape);
/// Pixels, x: i, y: j.
TileOrder pixel_order(const SliceRays& rays);

/// Tiles in one buffer: those of the super-tiles [super_begin, super_end), numbers [begin, end).
struct TileChunk {
  std::uint32_t super_begin, super_end;
  std::uint32_t begin, end;
};

/// R ray tiles and P pixel tiles of the orders `rays` and `pixels`, those of padding among them; S = R / 4 super-tiles;
/// T tiles, numbered by super-tile, by pixel tile within one, and by ray tile: in the order in which super_places has
/// them.
struct TileStructure {
  TileOrder rays, pixels;

  /// [R + 1] Ends of the lists of ray tiles: places ray_begin[r] to ray_begin[r + 1] of `pixel_tiles`. Super-tile s has
  /// the tiles ray_begin[4 s] to ray_begin[4 s + 4].
  std::vector<std::uint32_t> ray_begin;
  /// [T] Pixel tiles that each ray tile meets, in increasing order.
  std::vector<std::uint32_t> pixel_tiles;

  /// [S + 1] Pixel tiles that the four ray tiles of super-tile s meet: places super_begin[s] to super_begin[s + 1] of:
  std::vector<std::uint32_t> super_begin;
  /// 16 x pixel tile + mask, in increasing order within a super-tile. Bit n of the mask: ray tile 4 s + n has that
  /// pixel tile.
  std::vector<std::uint32_t> super_places;

  /// Chunks in the order of tiles; a super-tile is in one.
  std::vector<TileChunk> chunks;

  /// [chunks][P + 1] Tiles of pixel tile p in chunk c, for the adjoint: places pixel_begin[c (P + 1) + p] to
  /// pixel_begin[c (P + 1) + p + 1] of the two lists below.
  std::vector<std::uint32_t> pixel_begin;
  /// [T] Number of the tile from the chunk's first one, in increasing order within a pixel tile; and its ray tile.
  std::vector<std::uint32_t> tiles_of_pixels, ray_tiles;

  std::uint64_t tiles() const { return pixel_tiles.size(); }
  std::uint64_t bytes() const { return tiles() * tile_bytes; }
  /// Bytes of the lists, which the device holds beside the tiles.
  std::uint64_t list_bytes() const;
};

/// chunk_bytes: most bytes of tiles in a chunk. Throws InputError that names `geometry` if there are 2^32 tiles or
/// more, or a super-tile exceeds a chunk.
TileStructure tile_structure(const SliceRays& rays, const Size2& shape, std::uint64_t chunk_bytes);

/// Tiles that are not empty, and those of larger tiles: of pairs and of fours of ray tiles that follow each other.
struct TileCounts {
  std::uint64_t tiles = 0, of_pairs = 0, of_fours = 0;
};
/// Counts of tiles of any shapes.
TileCounts count_tiles(const SliceRays& rays, const TileOrder& ray_order, const TileOrder& pixel_order);

/// The shape of ray_tile_shapes with the fewest tiles, so with the greatest share of non-zeros in them.
Size2 choose_ray_shape(const SliceRays& rays);

}  // namespace halocline
