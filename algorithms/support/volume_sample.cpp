#include "algorithms/support/volume_sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {
namespace {

constexpr std::size_t runs = 256, run_length = 1024, uniform_stretch = 27;

RunSums look_at(const std::vector<float>& values) {
  RunSums sums;
  std::size_t stretch = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    stretch = n > 0 && values[n] == values[n - 1] ? stretch + 1 : 1;
    if (stretch == uniform_stretch) sums.uniform += uniform_stretch;
    if (stretch > uniform_stretch) ++sums.uniform;
    if (!std::isfinite(values[n])) continue;
    sums.sum += values[n];
    sums.squares += static_cast<double>(values[n]) * values[n];
    ++sums.finite;
  }
  return sums;
}

// The place of a run is anywhere in its part of the volume: the fractions of multiples of the golden ratio are spread
// evenly, and repeat nothing that a volume does (Weyl 1916).
std::size_t place_of(std::size_t run, std::size_t last_place) {
  const double within = std::fmod(static_cast<double>(run) * 0.6180339887498949, 1.0);
  return static_cast<std::size_t>((static_cast<double>(run) + within) / runs * static_cast<double>(last_place));
}

std::vector<RunSums> look_at_runs(const VolumeSource& source, const std::vector<VoxelRange>& places) {
  if (auto found = source.sums_of_runs(places)) return *std::move(found);
  std::vector<RunSums> found(places.size());
  parallel_parts(found.size(), [&](std::size_t run) {
    std::vector<float> values(places[run].count());
    source.read(places[run].begin, values.size(), values.data());
    found[run] = look_at(values);
  });
  return found;
}

}  // namespace

VolumeSample sample_volume(const VolumeSource& source) {
  const std::size_t voxels = source.grid().count();
  const bool all = voxels <= runs * run_length;
  const std::size_t length = all ? voxels : run_length;
  std::vector<VoxelRange> places;
  for (std::size_t run = 0; run < (all ? 1 : runs); ++run) {
    const std::size_t begin = all ? 0 : place_of(run, voxels - length);
    places.push_back({begin, begin + length});
  }
  const auto found = look_at_runs(source, places);
  RunSums sums;
  for (const auto& run : found) {
    sums.sum += run.sum;
    sums.squares += run.squares;
    sums.finite += run.finite;
    sums.uniform += run.uniform;
  }
  VolumeSample sample;
  if (sums.finite > 0) {
    const double count = sums.finite;
    sample.mean = sums.sum / count;
    sample.spread = std::sqrt(std::max(0.0, sums.squares / count - sample.mean * sample.mean));
  }
  sample.active_fraction = 1 - sums.uniform / static_cast<double>(std::max<std::size_t>(1, length * found.size()));
  return sample;
}

void check_scale(const VolumeSample& sample, const std::string& volume) {
  if (sample.spread > 0 && !(sample.spread >= least_spread && sample.spread <= most_spread))
    throw InputError(
        fmt::format("{}: the grey values spread by {:.3g} about their mean; float32 arithmetic needs {:g} to {:g}, so "
                    "scale them",
                    volume, sample.spread, least_spread, most_spread));
}

Volume central_part(const VolumeSource& source, std::size_t voxels) {
  const Grid& whole = source.grid();
  std::size_t edge = *std::max_element(whole.size.begin(), whole.size.end());
  std::array<std::size_t, 3> size = whole.size;
  const auto cut = [&] {
    for (int axis = 0; axis < 3; ++axis) size[axis] = std::min(edge, whole.size[axis]);
    return size[0] * size[1] * size[2];
  };
  while (cut() > voxels && edge > 1) --edge;
  Grid grid = whole;
  grid.size = size;
  std::array<std::size_t, 3> first;
  for (int axis = 0; axis < 3; ++axis) first[axis] = (whole.size[axis] - size[axis]) / 2;
  grid.origin =
      whole.world(static_cast<double>(first[0]), static_cast<double>(first[1]), static_cast<double>(first[2]));
  Volume part = Volume::uninitialised(grid);
  // whole rows of a slice at once: many small reads would be slow from a file
  parallel_parts(size[2], [&](std::size_t k) {
    UninitialisedVector<float> rows(whole.size[0] * size[1]);
    source.read(whole.size[0] * (first[1] + whole.size[1] * (first[2] + k)), rows.size(), rows.data());
    for (std::size_t j = 0; j < size[1]; ++j) {
      const float* from = rows.data() + first[0] + whole.size[0] * j;
      std::copy(from, from + size[0], &part.at(0, j, k));
    }
  });
  return part;
}

Volume central_part(const Volume& volume, std::size_t voxels) {
  return central_part(MemorySource(volume), voxels);
}

}  // namespace halocline
