// Time frames after each other in one volume: see TimeAxis.
#pragma once

#include <cstddef>

#include "host/volume/volume.hpp"

namespace halocline {

/// The grid of `count` frames after each other: {nx, ny nz, count}. Origin and direction are the frame's, the spacings
/// those of its x, y and z.
Grid stacked_grid(const Grid& frame, std::size_t count);
/// Copies a frame; `stack` is on stacked_grid(frame.grid, more than n).
void put_frame(Volume& stack, std::size_t n, const Volume& frame);
Volume take_frame(const Volume& stack, std::size_t n, const Grid& frame);
/// The grid of a frame of a stack: stacked_grid()'s inverse, but for the number of frames.
Grid frame_grid(const Grid& stack, std::size_t depth);

}  // namespace halocline
