// The tiles of a slice's system matrix that are not empty: 8 rays x 16 pixels each, in half precision. Counted and
// listed on the host, without a device; a kernel computes their weights. A tile may be listed whose weights are all 0,
// but no weight lies outside the tiles listed (SliceRays::margin()).
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/matrix/slice_rays.hpp"
#include "algorithms/matrix/tile_order.hpp"

namespace halocline {

inline constexpr std::uint32_t tile_rays = 8, tile_pixels = 16;
inline constexpr std::uint32_t tile_bytes = 2 * tile_rays * tile_pixels;
/// Ray tiles of a super-tile of rays, which are read with one tile of pixels, and pixel tiles of a super-tile of pixels
/// (cl/matrix.clh); of rays at most, because a mask has so many bits.
inline constexpr std::uint32_t super_ray_tiles = 8, super_pixel_tiles = 4;

/// Detector pixels x views of a ray tile. A tile of pixels is 4 x 4.
inline constexpr Size2 ray_tile_shapes[] = {{2, 4}, {4, 2}, {8, 1}};
/// Rays, x: detector pixels, y: views; a group is a super-tile, of 8 views where there are as many, or 4.
TileOrder ray_order(const SliceRays& rays, const Size2& shape, std::uint32_t of_super = super_ray_tiles);
/// Pixels, x: i, y: j; a group is a super-tile of 8 x 8.
TileOrder pixel_order(const SliceRays& rays);

/// Tiles in one buffer: those of the super-tiles [super_begin, super_end), numbers [begin, end).
struct TileChunk {
  std::uint32_t super_begin, super_end;
  std::uint32_t begin, end;
};

/// T tiles, numbered by super-tile of rays, by pixel tile within one, and by ray tile.
struct TileStructure {
  TileOrder rays, pixels;  ///< tiles of padding are among theirs

  /// [2 (S + 1)] Of the S super-tiles of rays, the place with which the list of each begins, and its first tile.
  std::vector<std::uint32_t> ray_super_begins;
  /// 256 x pixel tile + mask, in increasing order within a super-tile. Bit n of the mask: the super-tile's n-th ray
  /// tile meets it. The bits are tiles, one after the other.
  std::vector<std::uint32_t> ray_super_places;

  /// Chunks in the order of tiles; a super-tile of rays is in one.
  std::vector<TileChunk> chunks;

  /// [chunks][Q + 1] For the adjoint, of the Q super-tiles of pixels, the place with which the list of each begins.
  std::vector<std::uint32_t> pixel_super_begins;
  /// 16 x ray tile + mask of the super-tile's pixel tiles that it meets, in increasing order within a super-tile.
  std::vector<std::uint32_t> pixel_super_places;
  /// [places][4] Numbers of the tiles of the mask from the chunk's first one; 0 for those it lacks.
  std::vector<std::uint32_t> pixel_super_tiles;

  std::uint64_t tiles() const { return ray_super_begins.back(); }
  std::uint32_t supers_of_pixels() const { return pixels.tiles() / super_pixel_tiles; }
  std::uint64_t bytes() const { return tiles() * tile_bytes; }
};

/// chunk_bytes: most bytes of tiles in a chunk. Throws InputError that names `geometry` if there are 2^32 tiles or
/// more, or a super-tile exceeds a chunk.
TileStructure tile_structure(const SliceRays& rays, const Size2& shape, std::uint64_t chunk_bytes,
                             std::uint32_t rays_of_super = super_ray_tiles);

/// Tiles that are not empty, and those of larger tiles: of pairs and of fours of ray tiles that follow each other.
struct TileCounts {
  std::uint64_t tiles = 0, of_pairs = 0, of_fours = 0;
};
/// Counts of tiles of any shapes.
TileCounts count_tiles(const SliceRays& rays, const TileOrder& ray_order, const TileOrder& pixel_order);

/// The shape of ray_tile_shapes with the fewest tiles, so with the greatest share of non-zeros in them.
Size2 choose_ray_shape(const SliceRays& rays);

}  // namespace halocline
