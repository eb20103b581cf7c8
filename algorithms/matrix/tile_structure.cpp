#include "algorithms/matrix/tile_structure.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <limits>

#include "algorithms/matrix/tile_marks.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

/// Lists of some super-tiles, one after the other; lengths a ray tile and a super-tile.
struct SuperTileLists {
  std::vector<std::uint32_t> pixel_tiles, super_places, tiles_of_rays, places_of_supers;
};

/// Adds the lists of a super-tile.
void add_super_tile(std::array<TileMarks, super_ray_tiles>& marks, SuperTileLists& part) {
  std::array<std::vector<std::uint32_t>, super_ray_tiles> of_rays;
  const std::size_t before = part.super_places.size();
  for (std::size_t word = 0; word < marks[0].words(); ++word) {
    std::array<std::uint64_t, super_ray_tiles> taken{};
    std::uint64_t any = 0;
    for (std::uint32_t n = 0; n < super_ray_tiles; ++n) any |= taken[n] = marks[n].take(word);
    for (; any != 0; any &= any - 1) {
      const int bit = std::countr_zero(any);
      const auto pixel_tile = static_cast<std::uint32_t>(64 * word) + static_cast<std::uint32_t>(bit);
      std::uint32_t mask = 0;
      for (std::uint32_t n = 0; n < super_ray_tiles; ++n) {
        if ((taken[n] >> bit & 1) == 0) continue;
        mask |= 1U << n;
        of_rays[n].push_back(pixel_tile);
      }
      part.super_places.push_back(16 * pixel_tile + mask);
    }
  }
  part.places_of_supers.push_back(static_cast<std::uint32_t>(part.super_places.size() - before));
  for (const auto& each : of_rays) {
    part.tiles_of_rays.push_back(static_cast<std::uint32_t>(each.size()));
    part.pixel_tiles.insert(part.pixel_tiles.end(), each.begin(), each.end());
  }
}

constexpr std::uint32_t supers_of_part = 16;

std::vector<SuperTileLists> make_parts(const SliceRays& rays, const TileStructure& structure) {
  const std::uint32_t supers = structure.rays.tiles() / super_ray_tiles;
  const TileNumbers pixels(structure.pixels);
  std::vector<SuperTileLists> parts((supers + supers_of_part - 1) / supers_of_part);
  parallel_slices(parts.size(), [&](std::size_t n) {
    check_interrupt();
    const TileMarks none(pixels);
    std::array<TileMarks, super_ray_tiles> marks{none, none, none, none};
    const auto first = static_cast<std::uint32_t>(n) * supers_of_part;
    for (std::uint32_t super = first; super < std::min(first + supers_of_part, supers); ++super) {
      for (std::uint32_t each = 0; each < super_ray_tiles; ++each)
        marks[each].mark(rays, structure.rays, super_ray_tiles * super + each);
      add_super_tile(marks, parts[n]);
    }
  });
  return parts;
}

/// Ends of lists of these lengths, added to the end of the list before.
void add_ends(const std::vector<std::uint32_t>& lengths, std::vector<std::uint32_t>& begins) {
  for (const std::uint32_t length : lengths) begins.push_back(begins.back() + length);
}

/// Lists by rays from those of the parts, which are emptied.
void join_parts(std::vector<SuperTileLists>& parts, TileStructure& structure) {
  std::uint64_t tiles = 0, places = 0;
  for (const SuperTileLists& part : parts) tiles += part.pixel_tiles.size(), places += part.super_places.size();
  if (tiles > std::numeric_limits<std::uint32_t>::max())
    throw InputError(
        fmt::format("`geometry` has {} tiles of rays and pixels; a system matrix takes fewer than 2^32", tiles));
  structure.pixel_tiles.reserve(tiles), structure.super_places.reserve(places);
  structure.ray_begin = structure.super_begin = {0};
  for (SuperTileLists& part : parts) {
    add_ends(part.tiles_of_rays, structure.ray_begin);
    add_ends(part.places_of_supers, structure.super_begin);
    structure.pixel_tiles.insert(structure.pixel_tiles.end(), part.pixel_tiles.begin(), part.pixel_tiles.end());
    structure.super_places.insert(structure.super_places.end(), part.super_places.begin(), part.super_places.end());
    part = {};
  }
}

std::vector<TileChunk> chunks_of(const TileStructure& structure, std::uint64_t chunk_bytes) {
  const auto supers = static_cast<std::uint32_t>(structure.super_begin.size() - 1);
  const auto begin_of = [&](std::uint32_t super) { return structure.ray_begin[super_ray_tiles * super]; };
  std::vector<TileChunk> chunks{{0, 0, 0, 0}};
  for (std::uint32_t super = 0; super < supers; ++super) {
    const std::uint32_t begin = begin_of(super), end = begin_of(super + 1);
    if (std::uint64_t{end - begin} * tile_bytes > chunk_bytes)
      throw InputError(fmt::format("32 rays of `geometry` take {} bytes of a system matrix, more than a buffer of {}",
                                   std::uint64_t{end - begin} * tile_bytes, chunk_bytes));
    if (std::uint64_t{end - chunks.back().begin} * tile_bytes > chunk_bytes)
      chunks.push_back({super, super, begin, begin});
    chunks.back().super_end = super + 1, chunks.back().end = end;
  }
  return chunks;
}

/// Lists by pixel tiles, chunk by chunk.
void list_by_pixels(TileStructure& structure) {
  const std::size_t pixels = structure.pixels.tiles();
  structure.tiles_of_pixels.resize(structure.tiles()), structure.ray_tiles.resize(structure.tiles());
  structure.pixel_begin.assign(structure.chunks.size() * (pixels + 1), 0);
  parallel_slices(structure.chunks.size(), [&](std::size_t n) {
    check_interrupt();
    const TileChunk& chunk = structure.chunks[n];
    std::uint32_t* begin = &structure.pixel_begin[n * (pixels + 1)];
    for (std::uint32_t tile = chunk.begin; tile < chunk.end; ++tile) ++begin[structure.pixel_tiles[tile] + 1];
    begin[0] = chunk.begin;
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) begin[pixel + 1] += begin[pixel];
    std::vector<std::uint32_t> next(begin, begin + pixels);
    std::uint32_t tile = 0;
    for (std::uint32_t super = chunk.super_begin; super < chunk.super_end; ++super)
      for (std::uint32_t at = structure.super_begin[super]; at < structure.super_begin[super + 1]; ++at)
        for (std::uint32_t each = 0; each < super_ray_tiles; ++each) {
          if ((structure.super_places[at] >> each & 1) == 0) continue;
          const std::uint32_t place = next[structure.super_places[at] / 16]++;
          structure.tiles_of_pixels[place] = tile++, structure.ray_tiles[place] = super_ray_tiles * super + each;
        }
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

TileOrder ray_order(const SliceRays& rays, const Size2& shape) {
  return {{rays.columns(), rays.views()}, shape, {2, 2}};
}

TileOrder pixel_order(const SliceRays& rays) {
  return {{rays.nx(), rays.ny()}, {4, 4}, {4, 4}};
}

std::uint64_t TileStructure::list_bytes() const {
  return sizeof(std::uint32_t) * (ray_begin.size() + super_begin.size() + super_places.size() + pixel_begin.size() +
                                  tiles_of_pixels.size() + ray_tiles.size());
}

TileStructure tile_structure(const SliceRays& rays, const Size2& shape, std::uint64_t chunk_bytes) {
  TileStructure structure;
  structure.rays = ray_order(rays, shape), structure.pixels = pixel_order(rays);
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
