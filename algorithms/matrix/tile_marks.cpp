#include "algorithms/matrix/tile_marks.hpp"

namespace halocline {

TileNumbers::TileNumbers(const TileOrder& order) : order_(order), across_(order.tiles_across()[0]) {
  const Size2 across = order.tiles_across();
  numbers_.reserve(order.tiles());
  for (std::uint32_t y = 0; y < across[1]; ++y)
    for (std::uint32_t x = 0; x < across[0]; ++x) numbers_.push_back(order.tile_number(x, y));
}

void TileMarks::mark(const SliceRay& ray, double margin) {
  const Size2& tile = pixels_->order().tile;
  const int along = static_cast<int>(tile[ray.axis]), across = std::countr_zero(tile[1 - ray.axis]);
  for (int first = 0, band = 0; first < ray.planes; first += along, ++band) {
    const MetVoxels met = ray.met(first, std::min(first + along, ray.planes) - 1, margin);
    if (met.last < met.first) continue;
    for (int other = met.first >> across; other <= met.last >> across; ++other) {
      const auto number = ray.axis == 0 ? pixels_->at(band, other) : pixels_->at(other, band);
      words_[number / 64] |= std::uint64_t{1} << number % 64;
    }
  }
}

void TileMarks::mark(const SliceRays& rays, const TileOrder& order, std::uint32_t ray_tile) {
  const Size2 at = order.tile_at(ray_tile);
  const std::uint32_t column = at[0] * order.tile[0], view = at[1] * order.tile[1];
  for (std::uint32_t v = view; v < std::min(view + order.tile[1], order.size[1]); ++v)
    for (std::uint32_t u = column; u < std::min(column + order.tile[0], order.size[0]); ++u)
      mark(rays.ray(u, v), rays.margin());
}

}  // namespace halocline
