#include "algorithms/support/norm.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "host/system/thread_pool.hpp"

namespace halocline {

double norm_of(const VolumeSource& values) {
  const std::size_t count = values.grid().count();
  std::vector<double> parts((count + voxels_in_a_piece - 1) / voxels_in_a_piece, 0.0);
  parallel_ranges(count, voxels_in_a_piece, [&](std::size_t first, std::size_t now) {
    std::vector<float> piece(now);
    values.read(first, now, piece.data());
    double& sum = parts[first / voxels_in_a_piece];
    for (const float value : piece) sum += static_cast<double>(value) * value;
  });
  return std::sqrt(std::accumulate(parts.begin(), parts.end(), 0.0));
}

}  // namespace halocline
