// The pixels of a flat detector, as far as they are known.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "host/volume/volume.hpp"

namespace halocline {

/// Pixel (column, row) is at (u, v) = origin + spacing o (column, row) mm. Without an origin the detector is centred on
/// (0, 0).
struct DetectorPixels {
  std::optional<std::array<std::size_t, 2>> size;
  std::optional<std::array<double, 2>> spacing;  ///< mm
  std::optional<std::array<double, 2>> origin;   ///< (u, v) of the centre of pixel (0, 0), mm

  /// The values of `other` where this has none.
  DetectorPixels or_else(const DetectorPixels& other) const;
  /// (u, v) of the detector's centre in mm: 0 unless there is an origin. Throws InputError that says what is missing.
  std::array<double, 2> centre() const;
  /// (u, v) of pixel (0, 0) in mm. Throws InputError that says what is missing.
  std::array<double, 2> first() const;
  /// A stack of `views` such images. Throws InputError that says what is missing.
  Grid grid(std::size_t views) const;
  /// The pixels of a stack (u, v, view), from the least u and v on, whichever way the file counts.
  static DetectorPixels of(const Grid& projections);
};

/// Throws InputError unless size and spacing (to 1e-6) agree where both know them.
void require_same_pixels(const DetectorPixels& file, const DetectorPixels& given, const std::string& file_name);

}  // namespace halocline
