#include "algorithms/preprocessing/rings.hpp"

#include <algorithm>

namespace halocline {
namespace {

/// Sorts partly. Of an even number the mean of the two in the middle.
float median(float* begin, std::size_t count) {
  float* middle = begin + count / 2;
  std::nth_element(begin, middle, begin + count);
  return count % 2 == 1 ? *middle : 0.5f * (*middle + *std::max_element(begin, middle));
}

}  // namespace

std::vector<float> ring_offsets(const std::vector<float>& values, std::size_t columns, std::size_t views, int width) {
  const std::size_t most = 2 * static_cast<std::size_t>(width) + 1;
  const auto reach_at = [&](std::size_t n) { return std::min({most, n, columns - 1 - n}); };
  std::vector<float> details(values.size());  // columns by views
  std::vector<float> around(2 * most + 1);
  for (std::size_t view = 0; view < views; ++view) {
    const float* row = values.data() + view * columns;
    for (std::size_t n = 0; n < columns; ++n) {
      const std::size_t reach = reach_at(n);
      for (std::size_t d = 1; d <= reach; ++d) around[d - 1] = 0.5f * (row[n - d] + row[n + d]);
      details[n * views + view] = reach == 0 ? 0 : row[n] - median(around.data(), reach);
    }
  }
  std::vector<float> raw(columns), offsets(columns);
  for (std::size_t n = 0; n < columns; ++n) raw[n] = median(details.data() + n * views, views);
  for (std::size_t n = 0; n < columns; ++n) {
    const std::size_t reach = reach_at(n);
    std::copy_n(raw.begin() + static_cast<std::ptrdiff_t>(n - reach), 2 * reach + 1, around.begin());
    offsets[n] = raw[n] - median(around.data(), 2 * reach + 1);
  }
  return offsets;
}

}  // namespace halocline
