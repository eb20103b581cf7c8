#include "algorithms/denoise/weight_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "algorithms/denoise/denoise.hpp"
#include "host/error.hpp"
#include "host/thread_pool.hpp"

namespace halocline {

WeightStatistics weight_statistics(const VolumeSource& weights) {
  struct Piece {
    double sum = 0;
    std::size_t positive = 0, bad = 0;  // bad: how many were good before the first that is not; count if all are
    float least = std::numeric_limits<float>::infinity(), largest = 0, found = 0;
  };
  const Grid& grid = weights.grid();
  std::vector<Piece> pieces((grid.count() + voxels_in_a_piece - 1) / voxels_in_a_piece);
  parallel_ranges(grid.count(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    UninitialisedVector<float> values(count);
    weights.read(first, count, values.data());
    Piece& piece = pieces[first / voxels_in_a_piece];
    for (; piece.bad < count; ++piece.bad) {
      const float weight = values[piece.bad];
      if (!(weight >= 0) || !std::isfinite(weight)) {
        piece.found = weight;
        return;
      }
      piece.sum += weight;
      piece.positive += weight > 0 ? 1 : 0;
      if (weight > 0) piece.least = std::min(piece.least, weight);
      piece.largest = std::max(piece.largest, weight);
    }
  });
  WeightStatistics result;
  result.least = std::numeric_limits<float>::infinity();
  double sum = 0;
  std::size_t positive = 0;
  for (std::size_t n = 0; n < pieces.size(); ++n) {  // in order, so that the sum depends on no thread
    const std::size_t first = n * voxels_in_a_piece, bad = first + pieces[n].bad;
    if (pieces[n].bad < std::min(voxels_in_a_piece, grid.count() - first))
      throw InputError(fmt::format(
          "`weights`: the variance at voxel ({}, {}, {}) is {}; expected finite values, positive or 0 (0: seen by no "
          "view)",
          bad % grid.size[0], bad / grid.size[0] % grid.size[1], bad / grid.slice(), pieces[n].found));
    sum += pieces[n].sum;
    positive += pieces[n].positive;
    result.least = std::min(result.least, pieces[n].least);
    result.largest = std::max(result.largest, pieces[n].largest);
  }
  if (positive == 0) throw InputError("`weights`: the variances are all 0; expected positive ones");
  result.mean = sum / static_cast<double>(positive);
  return result;
}

Volume normalised_weights(const Volume& weights) {
  const MemorySource source(weights);
  return read_volume(DividedSource(source, weight_statistics(source).mean));
}

}  // namespace halocline
