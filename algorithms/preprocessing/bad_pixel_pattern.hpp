// Good pixels around a bad one, from which it is filled.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace halocline {

/// Pixels of a detector that are known: those of `marks` that are not 0.
struct KnownPixels {
  std::span<const char> marks;
  std::ptrdiff_t columns, rows;
  bool at(std::ptrdiff_t column, std::ptrdiff_t row) const {
    return column >= 0 && row >= 0 && column < columns && row < rows &&
           marks[static_cast<std::size_t>(row * columns + column)] != 0;
  }
};

/// Good pixels around one, by their offsets from it.
struct PixelPattern {
  struct Offset {
    std::ptrdiff_t column, row;
  };
  struct Feature {
    std::size_t pixel;    ///< of `pixels`
    std::ptrdiff_t view;  ///< from the one that is filled
  };
  std::size_t at = 0;                        ///< the pixel
  std::array<std::ptrdiff_t, 4> distance{};  ///< left, right, up, down; 0: there is none
  std::array<std::size_t, 4> nearest{};      ///< of `pixels`: those at these distances
  std::vector<Offset> pixels;                ///< pixels whose line integrals are used
  std::vector<Feature> features;             ///< line integrals from which what the line misses is predicted
  std::vector<Offset> examples;              ///< good pixels that could be filled in the same way
  bool has_row() const { return distance[0] > 0 && distance[1] > 0; }
};

/// Returns the nearest known pixels of row and column, and no features.
PixelPattern nearest_pixels(std::size_t at, const KnownPixels& known);
/// Adds features, and examples to learn their weights by.
void add_features(PixelPattern& pattern, const KnownPixels& good);

}  // namespace halocline
