// Half a turn of a parallel beam where its two ends meet: the last views, mirrored, continue into the first.
#pragma once

#include <cstddef>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

struct SeamView {
  std::size_t view;
  double angle;  ///< from the seam, radians, as if mirrored views went before the first
  bool mirrored;
  double axis;  ///< the column on which the geometry has it
};

/// Rows of the views beside the seam, without constant offsets of columns (still_details).
struct SeamRows {
  static constexpr std::size_t most_rows = 16;     ///< spread over the detector
  static constexpr std::size_t views_a_side = 12;  ///< at the most
  static constexpr std::size_t views_for_rings = 360;

  /// projections: line integrals (u, v, view).
  SeamRows(const Volume& projections, const Geometry& geometry);

  std::vector<SeamView> views;
  std::size_t columns, rows;
  std::vector<float> values;  ///< [(row * views + view) * columns]
};

}  // namespace halocline
