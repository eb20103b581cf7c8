#include "algorithms/matrix/matrix_size.hpp"

namespace halocline {
namespace {

// Tiles of `length` elements side by side, row by row. Groups pad rows.
TileOrder row_by_row(const Size2& size, std::uint32_t length, std::uint32_t group) {
  return {size, {length, 1}, {group, 1}};
}

}  // namespace

double MatrixSize::fill(std::uint64_t of_tiles) const {
  return static_cast<double>(nonzeros) / (static_cast<double>(of_tiles) * tile_rays * tile_pixels);
}

std::uint64_t MatrixSize::csr_bytes() const {
  return nonzeros * (sizeof(float) + sizeof(std::uint32_t)) + (rays + 1) * sizeof(std::uint32_t);
}

MatrixSize matrix_size(const SliceRays& rays, const std::function<void(int done, int steps)>& done) {
  constexpr int steps = 3 + static_cast<int>(std::size(ray_tile_shapes));
  int step = 0;
  const auto next = [&] {
    if (done) done(step, steps);
    ++step;
  };
  MatrixSize size;
  size.rays = std::uint64_t{rays.columns()} * rays.views();
  size.pixels = std::uint64_t{rays.nx()} * rays.ny();
  next();
  size.nonzeros = rays.nonzeros();

  const TileOrder pixels = pixel_order(rays);
  const Size2 detector{rays.columns(), rays.views()};
  TileCounts fewest;
  for (std::size_t n = 0; n < size.tiles.size(); ++n) {
    next();
    const TileCounts counts = count_tiles(rays, {detector, ray_tile_shapes[n], {2, 2}}, pixels);
    size.tiles[n] = counts.tiles;
    if (n == 0 || counts.tiles < fewest.tiles) fewest = counts, size.shape = ray_tile_shapes[n];
  }
  next();
  constexpr Size2 square{4, 4};
  const std::uint64_t of_squares = count_tiles(rays, {detector, square, {1, 1}}, pixels).tiles;

  next();
  const TileOrder lines = row_by_row({rays.nx(), rays.ny()}, tile_pixels, 1);
  const TileCounts before = count_tiles(rays, row_by_row(detector, tile_rays, 4), lines);
  const auto blocks = [&](std::uint32_t of_rays) {
    return std::uint64_t{row_by_row(detector, of_rays, 1).tiles()} * lines.tiles();
  };
  const Size2 super{2 * size.shape[0], 2 * size.shape[1]};
  size.blocks = {{"16.16.16", 16, square, blocks(16), before.of_pairs, of_squares},
                 {"32.8.16", 32, super, blocks(32), before.of_fours, fewest.of_fours},
                 {"8.32.16", 8, size.shape, blocks(8), before.tiles, fewest.tiles}};
  return size;
}

}  // namespace halocline
