// Parts of a projection stack: some of its views, a window of the detector, pixels put together.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// Part of a stack (u, v, view). Pixels that do not fill a last bin are left out.
struct ProjectionPart {
  std::vector<std::size_t> views;                  ///< of the stack, in the order in which they are wanted
  std::array<std::size_t, 2> first{0, 0}, size{};  ///< the window: its first column and row, and how many
  std::array<std::size_t, 2> bin{1, 1};            ///< so many columns and rows of it become one pixel
};

/// The grid of the part: its pixels keep their places (u, v), bins are at the centre of their pixels. Spacing and
/// origin along the views are unchanged.
Grid part_grid(const Grid& stack, const ProjectionPart& part);

/// Reads the part. A bin is the mean of its pixels, computed in double and rounded once. Only the rows of the window
/// are read, each once, a view at a time. The part must be inside the stack and have a bin.
Volume take_part(const VolumeSource& stack, const ProjectionPart& part);

}  // namespace halocline
