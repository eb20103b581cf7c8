#include "algorithms/matrix/matrix_size.hpp"

#include <algorithm>

namespace halocline {
namespace {

TileOrder row_by_row(const Size2& size, std::uint32_t tile) {
  return {size, {tile, 1}, {1, 1}};
}

}  // namespace

double MatrixSize::fill(std::uint64_t of_tiles) const {
  return static_cast<double>(nonzeros) / (static_cast<double>(of_tiles) * tile_rays * tile_pixels);
}

std::uint64_t MatrixSize::csr_bytes() const {
  return nonzeros * (sizeof(float) + sizeof(std::uint32_t)) + (rays + 1) * sizeof(std::uint32_t);
}

MatrixSize matrix_size(const SliceRays& rays, const std::function<void(int done, int steps)>& done) {
  constexpr int steps = 1 + static_cast<int>(std::size(ray_tile_shapes)) + 5;
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
  for (std::size_t n = 0; n < size.tiles.size(); ++n) {
    next();
    size.tiles[n] = count_tiles(rays, ray_order(rays, ray_tile_shapes[n]), pixels);
  }
  const auto fewest = std::min_element(size.tiles.begin(), size.tiles.end());
  size.shape = ray_tile_shapes[fewest - size.tiles.begin()];

  size.blocks = {{"16.16.16", 16, {4, 4}},
                 {"32.8.16", 32, {2 * size.shape[0], 2 * size.shape[1]}},
                 {"8.32.16", 8, size.shape, 0, 0, *fewest}};
  for (BlockCounts& each : size.blocks) {
    const TileOrder rays_before = row_by_row({rays.columns(), rays.views()}, each.rays),
                    pixels_before = row_by_row({rays.nx(), rays.ny()}, tile_pixels);
    each.blocks = std::uint64_t{rays_before.tiles()} * pixels_before.tiles();
    next();
    each.before = count_tiles(rays, rays_before, pixels_before);
    if (each.after > 0) continue;
    next();
    each.after = count_tiles(rays, ray_order(rays, each.shape), pixels);
  }
  return size;
}

}  // namespace halocline
