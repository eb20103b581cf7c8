#include "algorithms/denoise/weight_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {

namespace {

// Statistics of voxels_in_a_piece weights, or of the rest at the end.
struct Piece {
  double sum = 0;
  std::size_t positive = 0, bad = 0;  // bad: how many were good before the first that is not; count if all are
  float least = std::numeric_limits<float>::infinity(), largest = 0, found = 0;
};

Piece piece_of(const float* values, std::size_t count) {
  Piece piece;
  for (; piece.bad < count; ++piece.bad) {
    const float weight = values[piece.bad];
    if (!(weight >= 0) || !std::isfinite(weight)) {
      piece.found = weight;
      return piece;
    }
    piece.sum += weight;
    piece.positive += weight > 0 ? 1 : 0;
    if (weight > 0) piece.least = std::min(piece.least, weight);
    piece.largest = std::max(piece.largest, weight);
  }
  return piece;
}

std::vector<VoxelRange> ranges_of_pieces(std::size_t count) {
  std::vector<VoxelRange> ranges;
  for (std::size_t at = 0; at < count; at += voxels_in_a_piece)
    ranges.push_back({at, std::min(at + voxels_in_a_piece, count)});
  return ranges;
}

// Pieces computed by the devices on which the array resides; nothing where it has to be read.
std::optional<std::vector<Piece>> pieces_on_devices(const VolumeSource& weights,
                                                    const std::vector<VoxelRange>& ranges) {
  const auto sums = weights.sums_of_runs(ranges);
  if (!sums) return std::nullopt;
  std::vector<Piece> pieces;
  for (std::size_t n = 0; n < ranges.size(); ++n) {
    const RunSums& run = (*sums)[n];
    const std::size_t count = ranges[n].end - ranges[n].begin;
    pieces.push_back({run.sum, static_cast<std::size_t>(run.positive),
                      run.bad < 0 ? count : static_cast<std::size_t>(run.bad), static_cast<float>(run.least_positive),
                      static_cast<float>(run.largest), 0});
    if (pieces.back().bad < count) weights.read(ranges[n].begin + pieces.back().bad, 1, &pieces.back().found);
  }
  return pieces;
}

std::vector<Piece> pieces_that_are_read(const VolumeSource& weights, const std::vector<VoxelRange>& ranges) {
  std::vector<Piece> pieces(ranges.size());
  parallel_ranges(weights.grid().count(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    UninitialisedVector<float> values(count);
    weights.read(first, count, values.data());
    pieces[first / voxels_in_a_piece] = piece_of(values.data(), count);
  });
  return pieces;
}

}  // namespace

WeightStatistics weight_statistics(const VolumeSource& weights) {
  const Grid& grid = weights.grid();
  const auto ranges = ranges_of_pieces(grid.count());
  const auto here = pieces_on_devices(weights, ranges);
  const auto pieces = here ? *here : pieces_that_are_read(weights, ranges);
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

}  // namespace halocline
