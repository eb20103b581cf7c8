// Tiles of pixels that the rays of one tile meet, as bits.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "algorithms/matrix/slice_rays.hpp"
#include "algorithms/matrix/tile_order.hpp"

namespace halocline {

/// Numbers of the tiles of an order by their places in the image.
class TileNumbers {
 public:
  explicit TileNumbers(const TileOrder& order);
  const TileOrder& order() const { return order_; }
  std::uint32_t at(std::uint32_t x, std::uint32_t y) const { return numbers_[x + std::size_t{across_} * y]; }

 private:
  TileOrder order_;
  std::uint32_t across_;
  std::vector<std::uint32_t> numbers_;
};

class TileMarks {
 public:
  explicit TileMarks(const TileNumbers& pixels) : pixels_(&pixels), words_((pixels.order().tiles() + 63) / 64) {}
  /// Marks the tiles that a ray meets.
  void mark(const SliceRay& ray, double margin);
  /// Marks those of all rays of a tile.
  void mark(const SliceRays& rays, const TileOrder& order, std::uint32_t ray_tile);
  std::size_t words() const { return words_.size(); }
  /// The marks of tiles 64 n to 64 n + 63, which are cleared.
  std::uint64_t take(std::size_t n) {
    const std::uint64_t word = words_[n];
    words_[n] = 0;
    return word;
  }

 private:
  const TileNumbers* pixels_;
  std::vector<std::uint64_t> words_;
};

}  // namespace halocline
