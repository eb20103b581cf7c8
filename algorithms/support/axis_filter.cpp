#include "algorithms/support/axis_filter.hpp"

#include <cmath>
#include <cstddef>

#include "algorithms/support/parallel_slices.hpp"

namespace halocline {

void filter_along(Volume& volume, int axis, const std::vector<double>& weights) {
  const auto size = static_cast<std::ptrdiff_t>(volume.grid.size[axis]);
  if (size < 2) return;
  const std::size_t strides[] = {1, volume.grid.size[0], volume.grid.slice()};
  const auto stride = static_cast<std::ptrdiff_t>(strides[axis]);
  const auto lines = static_cast<std::ptrdiff_t>(volume.grid.count()) / size;
  parallel_slices(static_cast<std::size_t>(lines), [&](std::size_t line) {
    const auto n = static_cast<std::ptrdiff_t>(line);
    float* first = volume.voxels.data() + n % stride + n / stride * stride * size;
    std::vector<double> values(static_cast<std::size_t>(size));
    for (std::ptrdiff_t at = 0; at < size; ++at) values[at] = first[at * stride];
    const auto value = [&](std::ptrdiff_t at) {
      const std::ptrdiff_t folded = ((at % (2 * size)) + 2 * size) % (2 * size);
      return values[folded < size ? folded : 2 * size - 1 - folded];
    };
    for (std::ptrdiff_t at = 0; at < size; ++at) {
      double sum = weights[0] * value(at);
      for (std::ptrdiff_t away = 1; away < static_cast<std::ptrdiff_t>(weights.size()); ++away)
        sum += weights[away] * (value(at - away) + value(at + away));
      first[at * stride] = static_cast<float>(sum);
    }
  });
}

Volume gaussian_smoothed(Volume volume, double sigma) {
  std::vector<double> weights(static_cast<std::size_t>(std::ceil(4 * sigma)) + 1);
  double sum = 0;
  for (std::size_t n = 0; n < weights.size(); ++n) {
    weights[n] = std::exp(-0.5 * std::pow(static_cast<double>(n) / sigma, 2));
    sum += (n == 0 ? 1 : 2) * weights[n];
  }
  for (double& weight : weights) weight /= sum;
  for (int axis = 0; axis < 3; ++axis) filter_along(volume, axis, weights);
  return volume;
}

}  // namespace halocline
