#include "algorithms/preprocessing/projection_part.hpp"

#include "host/system/interrupt.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {
namespace {

// The window's whole bins of one view; `rows` begins with the first row of the window, at column 0 of the detector.
void take_view(const float* rows, std::size_t width, const ProjectionPart& part, const Grid& grid, float* to) {
  const auto& bin = part.bin;
  const double pixels = static_cast<double>(bin[0] * bin[1]);
  for (std::size_t v = 0; v < grid.size[1]; ++v)
    for (std::size_t u = 0; u < grid.size[0]; ++u) {
      const float* from = rows + width * v * bin[1] + part.first[0] + u * bin[0];
      double sum = 0;
      for (std::size_t j = 0; j < bin[1]; ++j)
        for (std::size_t i = 0; i < bin[0]; ++i) sum += from[width * j + i];
      *to++ = static_cast<float>(sum / pixels);
    }
}

}  // namespace

Grid part_grid(const Grid& stack, const ProjectionPart& part) {
  Grid grid = stack;
  std::array<double, 2> centre;  // of the first bin, in pixels of the stack
  for (int axis = 0; axis < 2; ++axis) {
    const auto bin = static_cast<double>(part.bin[axis]);
    centre[axis] = static_cast<double>(part.first[axis]) + 0.5 * (bin - 1);
    grid.size[axis] = part.size[axis] / part.bin[axis];
    grid.spacing[axis] = stack.spacing[axis] * bin;
  }
  grid.size[2] = part.views.size();
  grid.origin = stack.world(centre[0], centre[1], 0);
  return grid;
}

Volume take_part(const VolumeSource& stack, const ProjectionPart& part) {
  const auto& size = stack.grid().size;
  Volume out = Volume::uninitialised(part_grid(stack.grid(), part));
  const std::size_t rows = out.grid.size[1] * part.bin[1], pixels = out.grid.slice();
  parallel_ranges(part.views.size(), 1, [&](std::size_t first, std::size_t count) {
    UninitialisedVector<float> window(size[0] * rows);
    for (std::size_t n = first; n < first + count; ++n) {
      check_interrupt();
      stack.read(size[0] * (part.first[1] + size[1] * part.views[n]), window.size(), window.data());
      take_view(window.data(), size[0], part, out.grid, &out.voxels[n * pixels]);
    }
  });
  return out;
}

}  // namespace halocline
