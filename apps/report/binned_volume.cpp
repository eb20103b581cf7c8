#include "apps/report/binned_volume.hpp"

#include <algorithm>
#include <cmath>

#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

std::array<std::size_t, 3> boxes_of(const std::array<std::size_t, 3>& size, const std::array<std::size_t, 3>& factors) {
  std::array<std::size_t, 3> boxes{};
  for (std::size_t axis = 0; axis < 3; ++axis) boxes[axis] = (size[axis] + factors[axis] - 1) / factors[axis];
  return boxes;
}

// Sums over the boxes of one layer of them.
class Layer {
 public:
  Layer(const std::array<std::size_t, 3>& boxes, const std::array<std::size_t, 3>& factors)
      : boxes_(boxes), factors_(factors), sums_(boxes[0] * boxes[1]), weights_(boxes[0] * boxes[1]) {}

  // weight: of each value along the row.
  template <typename Weight>
  void add_row(const float* row, std::size_t count, std::size_t j, Weight&& weight) {
    const std::size_t first = j / factors_[1] * boxes_[0];
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(row[i])) continue;
      const double part = weight(i);
      sums_[first + i / factors_[0]] += part * row[i];
      weights_[first + i / factors_[0]] += part;
    }
  }

  void finish(std::vector<float>& means) {
    for (std::size_t n = 0; n < sums_.size(); ++n)
      means.push_back(weights_[n] > 0 ? static_cast<float>(sums_[n] / weights_[n]) : 0.0F);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(weights_.begin(), weights_.end(), 0.0);
  }

 private:
  std::array<std::size_t, 3> boxes_, factors_;
  std::vector<double> sums_, weights_;
};

// Voxels of the whole volume along one side of box `n`.
double side_of(const BinnedVolume& volume, std::size_t axis, std::size_t n) {
  return static_cast<double>(std::min(volume.factors[axis], volume.whole.size[axis] - n * volume.factors[axis]));
}

float percentile(std::vector<float>& values, double part) {
  const auto at = static_cast<std::ptrdiff_t>(std::lround(part * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

}  // namespace

std::array<std::size_t, 3> binning_factors(const std::array<std::size_t, 3>& size, std::size_t limit) {
  const std::size_t most = std::max<std::size_t>(limit, 1);
  return boxes_of(size, {most, most, most});
}

BinnedVolume bin_volume(const VolumeSource& volume, const std::array<std::size_t, 3>& factors) {
  const Grid& grid = volume.grid();
  BinnedVolume result{grid, factors, boxes_of(grid.size, factors), {}};
  result.voxels.reserve(result.count());
  Layer layer(result.size, factors);
  const std::size_t columns = grid.size[0], rows = grid.size[1];
  const std::size_t at_once = std::clamp<std::size_t>(voxels_in_a_piece / columns, 1, rows);
  std::vector<float> piece(at_once * columns);
  for (std::size_t k = 0; k < grid.size[2]; ++k) {
    check_interrupt();
    for (std::size_t j = 0; j < rows; j += at_once) {
      const std::size_t now = std::min(at_once, rows - j);
      volume.read((k * rows + j) * columns, now * columns, piece.data());
      for (std::size_t row = 0; row < now; ++row)
        layer.add_row(piece.data() + row * columns, columns, j + row, [](std::size_t) { return 1.0; });
    }
    if ((k + 1) % factors[2] == 0 || k + 1 == grid.size[2]) layer.finish(result.voxels);
  }
  return result;
}

BinnedVolume bin_further(const BinnedVolume& volume, const std::array<std::size_t, 3>& more) {
  BinnedVolume result{volume.whole, {}, boxes_of(volume.size, more), {}};
  for (std::size_t axis = 0; axis < 3; ++axis) result.factors[axis] = volume.factors[axis] * more[axis];
  result.voxels.reserve(result.count());
  Layer layer(result.size, more);
  const auto& size = volume.size;
  for (std::size_t k = 0; k < size[2]; ++k) {
    for (std::size_t j = 0; j < size[1]; ++j) {
      const double of_row = side_of(volume, 1, j) * side_of(volume, 2, k);
      layer.add_row(volume.voxels.data() + (k * size[1] + j) * size[0], size[0], j,
                    [&](std::size_t i) { return of_row * side_of(volume, 0, i); });
    }
    if ((k + 1) % more[2] == 0 || k + 1 == size[2]) layer.finish(result.voxels);
  }
  return result;
}

std::array<std::size_t, 3> factors_for(const std::array<std::size_t, 3>& size, double most) {
  std::array<std::size_t, 3> factors{1, 1, 1};
  for (;;) {
    const auto boxes = boxes_of(size, factors);
    if (static_cast<double>(boxes[0] * boxes[1] * boxes[2]) <= most) return factors;
    std::size_t axis = 2;
    for (const std::size_t other : {1, 0})
      if (boxes[other] > boxes[axis]) axis = other;
    if (boxes[axis] == 1) return factors;
    ++factors[axis];
  }
}

ByteVolume to_bytes(const BinnedVolume& volume) {
  constexpr double rare = 1e-4, steps = 255;
  ByteVolume result;
  result.bytes.resize(volume.voxels.size());
  if (volume.voxels.empty()) return result;
  const auto [least, greatest] = std::minmax_element(volume.voxels.begin(), volume.voxels.end());
  double low = *least, high = *greatest;
  std::vector<float> sorted = volume.voxels;
  const double usual_low = percentile(sorted, rare), usual_high = percentile(sorted, 1 - rare);
  if (usual_high > usual_low && usual_high - usual_low < 0.25 * (high - low)) {
    result.below = low < usual_low;
    result.above = high > usual_high;
    low = usual_low;
    high = usual_high;
  }
  result.offset = low;
  result.slope = (high - low) / steps;
  if (!(result.slope > 0)) {
    result.slope = 0;
    return result;
  }
  for (std::size_t n = 0; n < result.bytes.size(); ++n)
    result.bytes[n] =
        static_cast<std::uint8_t>(std::lround(std::clamp((volume.voxels[n] - low) / result.slope, 0.0, steps)));
  return result;
}

}  // namespace halocline
