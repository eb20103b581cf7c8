#include "algorithms/matrix/tile_structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <numeric>

#include "algorithms/matrix/tile_marks.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

// Numbers of pixel tiles, those of padding among them, have a mask beside them.
static_assert(8 * most_slice_voxels / tile_pixels <= std::size_t{1} << (32 - super_ray_tiles));
constexpr std::uint32_t mask_of_rays = (1U << super_ray_tiles) - 1;

/// Lists of some super-tiles of rays, one after the other, and the number of places and tiles of each.
struct PartOfSupers {
  std::vector<std::uint32_t> places, lengths, tiles;
};

/// Adds the list of a super-tile.
void add_super_tile(std::vector<TileMarks>& marks, PartOfSupers& part) {
  const std::size_t before = part.places.size();
  std::uint32_t tiles = 0;
  for (std::size_t word = 0; word < marks[0].words(); ++word) {
    std::array<std::uint64_t, super_ray_tiles> taken{};
    std::uint64_t any = 0;
    for (std::size_t n = 0; n < marks.size(); ++n) any |= taken[n] = marks[n].take(word);
    for (; any != 0; any &= any - 1) {
      const int bit = std::countr_zero(any);
      const auto pixel_tile = static_cast<std::uint32_t>(64 * word) + static_cast<std::uint32_t>(bit);
      std::uint32_t mask = 0;
      for (std::uint32_t n = 0; n < super_ray_tiles; ++n) mask |= static_cast<std::uint32_t>(taken[n] >> bit & 1) << n;
      tiles += static_cast<std::uint32_t>(std::popcount(mask));
      part.places.push_back(pixel_tile << super_ray_tiles | mask);
    }
  }
  part.lengths.push_back(static_cast<std::uint32_t>(part.places.size() - before));
  part.tiles.push_back(tiles);
}

constexpr std::uint32_t supers_of_part = 16;

std::vector<PartOfSupers> make_parts(const SliceRays& rays, const TileStructure& structure) {
  const std::uint32_t of_super = structure.rays.tiles_of_group(), supers = structure.rays.tiles() / of_super;
  const TileNumbers pixels(structure.pixels);
  std::vector<PartOfSupers> parts((supers + supers_of_part - 1) / supers_of_part);
  parallel_slices(parts.size(), [&](std::size_t n) {
    check_interrupt();
    std::vector<TileMarks> marks(of_super, TileMarks(pixels));
    const auto first = static_cast<std::uint32_t>(n) * supers_of_part;
    for (std::uint32_t super = first; super < std::min(first + supers_of_part, supers); ++super) {
      for (std::uint32_t each = 0; each < of_super; ++each)
        marks[each].mark(rays, structure.rays, of_super * super + each);
      add_super_tile(marks, parts[n]);
    }
  });
  return parts;
}

/// Lists by rays from those of the parts, which are emptied.
void join_parts(std::vector<PartOfSupers>& parts, TileStructure& structure) {
  std::uint64_t tiles = 0, places = 0;
  for (const PartOfSupers& part : parts) {
    tiles = std::accumulate(part.tiles.begin(), part.tiles.end(), tiles);
    places += part.places.size();
  }
  if (tiles > std::numeric_limits<std::uint32_t>::max())
    throw InputError(
        fmt::format("`geometry` has {} tiles of rays and pixels; a system matrix takes fewer than 2^32", tiles));
  structure.ray_super_places.reserve(places);
  std::vector<std::uint32_t>& begins = structure.ray_super_begins;
  begins = {0, 0};
  for (PartOfSupers& part : parts) {
    for (std::size_t n = 0; n < part.lengths.size(); ++n) {
      const std::size_t before = begins.size() - 2;
      begins.push_back(begins[before] + part.lengths[n]);
      begins.push_back(begins[before + 1] + part.tiles[n]);
    }
    structure.ray_super_places.insert(structure.ray_super_places.end(), part.places.begin(), part.places.end());
    part = {};
  }
}

std::vector<TileChunk> chunks_of(const TileStructure& structure, std::uint64_t chunk_bytes) {
  const std::vector<std::uint32_t>& begins = structure.ray_super_begins;
  std::vector<TileChunk> chunks{{0, 0, 0, 0}};
  for (std::uint32_t super = 0; 2 * super + 2 < begins.size(); ++super) {
    const std::uint32_t begin = begins[2 * super + 1], end = begins[2 * super + 3];
    if (std::uint64_t{end - begin} * tile_bytes > chunk_bytes)
      throw InputError(fmt::format("{} rays of `geometry` take {} bytes of a system matrix, more than a buffer of {}",
                                   structure.rays.tiles_of_group() * tile_rays, std::uint64_t{end - begin} * tile_bytes,
                                   chunk_bytes));
    if (std::uint64_t{end - chunks.back().begin} * tile_bytes > chunk_bytes)
      chunks.push_back({super, super, begin, begin});
    chunks.back().super_end = super + 1, chunks.back().end = end;
  }
  return chunks;
}

/// Tiles of the ray tiles of a super-tile with the pixel tiles of another.
struct Meeting {
  std::uint32_t pixel_super;
  std::array<std::uint32_t, super_ray_tiles> masks;                                 ///< of pixel tiles
  std::array<std::array<std::uint32_t, super_pixel_tiles>, super_ray_tiles> tiles;  ///< their numbers in the chunk
};

/// Calls f(super-tile of rays, meeting) for those of a chunk in order.
template <typename F>
void for_each_meeting(const TileStructure& structure, const TileChunk& chunk, F&& f) {
  const auto &begins = structure.ray_super_begins, &places = structure.ray_super_places;
  std::uint32_t tile = 0;
  for (std::uint32_t super = chunk.super_begin; super < chunk.super_end; ++super)
    for (std::uint32_t at = begins[2 * super], end = begins[2 * super + 2]; at < end;) {
      const auto pixel_tile = [&] { return places[at] >> super_ray_tiles; };
      Meeting meeting{.pixel_super = pixel_tile() / super_pixel_tiles, .masks = {}, .tiles = {}};
      for (; at < end && pixel_tile() / super_pixel_tiles == meeting.pixel_super; ++at) {
        const std::uint32_t of_super = pixel_tile() % super_pixel_tiles;
        for (std::uint32_t mask = places[at] & mask_of_rays; mask != 0; mask &= mask - 1) {
          const auto ray = static_cast<std::size_t>(std::countr_zero(mask));
          meeting.masks[ray] |= 1U << of_super, meeting.tiles[ray][of_super] = tile++;
        }
      }
      f(super, meeting);
    }
}

/// Lists by pixels, chunk by chunk.
void list_by_pixels(TileStructure& structure) {
  const std::size_t begins_of_chunk = std::size_t{structure.supers_of_pixels()} + 1;
  const std::uint32_t of_super = structure.rays.tiles_of_group();
  std::vector<std::uint32_t>& begins = structure.pixel_super_begins;
  begins.assign(structure.chunks.size() * begins_of_chunk, 0);
  const auto of_chunks = [&](auto&& f) {
    parallel_slices(structure.chunks.size(), [&](std::size_t n) {
      check_interrupt();
      f(structure.chunks[n], &begins[n * begins_of_chunk]);
    });
  };
  of_chunks([&](const TileChunk& chunk, std::uint32_t* lengths) {
    for_each_meeting(structure, chunk, [&](std::uint32_t, const Meeting& meeting) {
      for (const std::uint32_t mask : meeting.masks) lengths[meeting.pixel_super] += mask != 0 ? 1 : 0;
    });
  });
  std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), std::uint32_t{0});
  structure.pixel_super_places.resize(begins.back());
  structure.pixel_super_tiles.resize(std::size_t{super_pixel_tiles} * begins.back());
  of_chunks([&](const TileChunk& chunk, const std::uint32_t* first) {
    std::vector<std::uint32_t> next(first, first + begins_of_chunk);
    for_each_meeting(structure, chunk, [&](std::uint32_t super, const Meeting& meeting) {
      for (std::uint32_t ray = 0; ray < of_super; ++ray) {
        if (meeting.masks[ray] == 0) continue;
        const std::size_t place = next[meeting.pixel_super]++;
        structure.pixel_super_places[place] = (of_super * super + ray) << super_pixel_tiles | meeting.masks[ray];
        std::copy(meeting.tiles[ray].begin(), meeting.tiles[ray].end(),
                  &structure.pixel_super_tiles[super_pixel_tiles * place]);
      }
    });
  });
}

/// Adds the marks of four ray tiles, which are cleared.
void add_counts(std::array<TileMarks, 4>& marks, TileCounts& counts) {
  const auto count = [](std::uint64_t word) { return static_cast<std::uint64_t>(std::popcount(word)); };
  for (std::size_t word = 0; word < marks[0].words(); ++word) {
    const std::uint64_t a = marks[0].take(word), b = marks[1].take(word), c = marks[2].take(word),
                        d = marks[3].take(word);
    if ((a | b | c | d) == 0) continue;
    counts.tiles += count(a) + count(b) + count(c) + count(d);
    counts.of_pairs += count(a | b) + count(c | d);
    counts.of_fours += count(a | b | c | d);
  }
}

}  // namespace

TileOrder ray_order(const SliceRays& rays, const Size2& shape, std::uint32_t of_super) {
  const std::uint32_t views = std::bit_ceil((rays.views() + shape[1] - 1) / shape[1]),
                      along_views = std::clamp(views, 1U, of_super / shape[1]);
  return {{rays.columns(), rays.views()}, shape, {of_super / along_views, along_views}};
}

TileOrder pixel_order(const SliceRays& rays) {
  return {{rays.nx(), rays.ny()}, {4, 4}, {2, super_pixel_tiles / 2}};
}

TileStructure tile_structure(const SliceRays& rays, const Size2& shape, std::uint64_t chunk_bytes,
                             std::uint32_t rays_of_super) {
  TileStructure structure;
  structure.rays = ray_order(rays, shape, rays_of_super), structure.pixels = pixel_order(rays);
  check_orders(structure.rays, structure.pixels);
  auto parts = make_parts(rays, structure);
  join_parts(parts, structure);
  structure.chunks = chunks_of(structure, chunk_bytes);
  list_by_pixels(structure);
  return structure;
}

TileCounts count_tiles(const SliceRays& rays, const TileOrder& ray_order, const TileOrder& pixel_order) {
  check_orders(ray_order, pixel_order);
  constexpr std::uint32_t tiles_of_part = 64;
  const std::uint32_t tiles = ray_order.tiles();
  const TileNumbers pixels(pixel_order);
  std::atomic<std::uint64_t> ones{0}, pairs{0}, fours{0};
  parallel_slices((tiles + tiles_of_part - 1) / tiles_of_part, [&](std::size_t n) {
    check_interrupt();
    const TileMarks none(pixels);
    std::array<TileMarks, 4> marks{none, none, none, none};
    TileCounts of_part;
    const auto first = static_cast<std::uint32_t>(n) * tiles_of_part;
    for (std::uint32_t tile = first; tile < std::min(first + tiles_of_part, tiles); tile += 4) {
      for (std::uint32_t each = 0; each < 4 && tile + each < tiles; ++each)
        marks[each].mark(rays, ray_order, tile + each);
      add_counts(marks, of_part);
    }
    ones += of_part.tiles, pairs += of_part.of_pairs, fours += of_part.of_fours;
  });
  return {ones, pairs, fours};
}

Size2 choose_ray_shape(const SliceRays& rays) {
  Size2 best{};
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  for (const Size2& shape : ray_tile_shapes) {
    const std::uint64_t tiles = count_tiles(rays, ray_order(rays, shape), pixel_order(rays)).tiles;
    if (tiles < fewest) fewest = tiles, best = shape;
  }
  return best;
}

}  // namespace halocline
