#include "algorithms/preprocessing/counts_part.hpp"

#include <vector>

#include "host/system/interrupt.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {
namespace {

/// Calls visit(bin, pixel) for the pixels of the part's bins, a bin after the other.
template <class Visit>
void for_each_pixel(const ProjectionPart& part, std::size_t columns, Visit visit) {
  const auto& [views, first, size, bin] = part;
  for (std::size_t v = 0, n = 0; v < size[1] / bin[1]; ++v)
    for (std::size_t u = 0; u < size[0] / bin[0]; ++u, ++n)
      for (std::size_t j = 0; j < bin[1]; ++j)
        for (std::size_t i = 0; i < bin[0]; ++i)
          visit(n, columns * (first[1] + v * bin[1] + j) + first[0] + u * bin[0] + i);
}

}  // namespace

CountsCalibration part_calibration(const CountsCalibration& whole, const ProjectionPart& part) {
  CountsCalibration out = whole.of_views(part.views);
  out.replaced = {};
  for (int axis = 0; axis < 2; ++axis) out.size[axis] = part.size[axis] / part.bin[axis];
  const std::size_t bins = out.size[0] * out.size[1];
  std::vector<double> dark(bins), open(bins);
  for_each_pixel(part, whole.size[0], [&](std::size_t n, std::size_t at) {
    dark[n] += whole.pixels[at].dark;
    open[n] += whole.pixels[at].open;
  });
  out.pixels.clear();
  for (std::size_t n = 0; n < bins; ++n)
    out.pixels.push_back({static_cast<float>(dark[n]), static_cast<float>(open[n])});
  return out;
}

Volume take_counts(const VolumeSource& counts, const ProjectionPart& part, const CountsCalibration& whole) {
  const std::size_t slice = counts.grid().slice();
  const MendedSource mended(counts, whole.replaced);
  Volume out = Volume::uninitialised(part_grid(counts.grid(), part));
  parallel_ranges(part.views.size(), 1, [&](std::size_t first, std::size_t count) {
    std::vector<float> view(slice);
    std::vector<double> sums(out.grid.slice());
    for (std::size_t n = first; n < first + count; ++n) {
      check_interrupt();
      mended.read(slice * part.views[n], slice, view.data());
      sums.assign(sums.size(), 0);
      for_each_pixel(part, whole.size[0], [&](std::size_t bin, std::size_t at) { sums[bin] += view[at]; });
      for (std::size_t bin = 0; bin < sums.size(); ++bin)
        out.voxels[n * sums.size() + bin] = static_cast<float>(sums[bin]);
    }
  });
  return out;
}

}  // namespace halocline
