// Figures of a slice's system matrix, counted on the host: what it takes as blocks and row by row, before and after the
// pseudo-Morton orders (tables 2, 3 and 5 of Nourazar & Goossens 2021).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/matrix/tile_structure.hpp"

namespace halocline {

/// Blocks of so many rays x 16 pixels.
struct BlockCounts {
  std::string fragment;  ///< of matrix units, M.N.K, whose operand the block is
  std::uint32_t rays = 0;
  Size2 shape{};             ///< of its rays after ordering: detector pixels x views
  std::uint64_t blocks = 0;  ///< of all views and lines of pixels, each padded to whole blocks
  std::uint64_t before = 0;  ///< not empty, rays and pixels row by row
  std::uint64_t after = 0;   ///< not empty, in pseudo-Morton orders

  /// In half precision, with the number of each block's pixels.
  std::uint64_t bytes() const { return after * (2 * rays * tile_pixels + sizeof(std::uint32_t)); }
};

struct MatrixSize {
  std::uint64_t rays = 0, pixels = 0, nonzeros = 0;
  std::array<std::uint64_t, std::size(ray_tile_shapes)> tiles{};  ///< of each of ray_tile_shapes
  Size2 shape{};                                                  ///< of them, the one with the fewest tiles
  std::vector<BlockCounts> blocks;

  double elements() const { return static_cast<double>(rays) * static_cast<double>(pixels); }
  double sparsity() const { return 1 - static_cast<double>(nonzeros) / elements(); }
  /// Share of non-zeros in so many tiles.
  double fill(std::uint64_t of_tiles) const;
  /// Row by row, float32 with 32-bit numbers of pixels.
  std::uint64_t csr_bytes() const;
};

/// done: called before each of `steps` counts, with those that are done.
MatrixSize matrix_size(const SliceRays& rays, const std::function<void(int done, int steps)>& done = {});

}  // namespace halocline
