#include "algorithms/denoisers/frame_stack.hpp"

#include <algorithm>

namespace halocline {

Grid stacked_grid(const Grid& frame, std::size_t count) {
  Grid grid = frame;
  grid.size = {frame.size[0], frame.size[1] * frame.size[2], count};
  return grid;
}

Grid frame_grid(const Grid& stack, std::size_t depth) {
  Grid grid = stack;
  grid.size = {stack.size[0], stack.size[1] / depth, depth};
  return grid;
}

void put_frame(Volume& stack, std::size_t n, const Volume& frame) {
  std::copy(frame.voxels.begin(), frame.voxels.end(),
            stack.voxels.begin() + static_cast<std::ptrdiff_t>(n * frame.grid.count()));
}

Volume take_frame(const Volume& stack, std::size_t n, const Grid& frame) {
  Volume result(frame);
  const auto begin = stack.voxels.begin() + static_cast<std::ptrdiff_t>(n * frame.count());
  std::copy(begin, begin + static_cast<std::ptrdiff_t>(frame.count()), result.voxels.begin());
  return result;
}

}  // namespace halocline
