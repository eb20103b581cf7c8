#include "algorithms/hounsfield.hpp"

#include "host/thread_pool.hpp"
#include "host/volume_source.hpp"

namespace halocline {
namespace {

template <typename Change>
void each_voxel(Volume& volume, Change change) {
  parallel_ranges(volume.voxels.size(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    for (std::size_t n = first; n < first + count; ++n) volume.voxels[n] = static_cast<float>(change(volume.voxels[n]));
  });
}

}  // namespace

void to_hounsfield(Volume& attenuations, double water) {
  each_voxel(attenuations, [=](double value) { return 1000 * (value - water) / water; });
}

void variance_to_hounsfield(Volume& variances, double water) {
  each_voxel(variances, [=](double value) { return value * (1000 / water) * (1000 / water); });
}

}  // namespace halocline
