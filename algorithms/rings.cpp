#include "algorithms/rings.hpp"

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
  std::vector<float> details(values.size());  // columns by views
  std::vector<float> around(2 * static_cast<std::size_t>(width) + 1);
  for (std::size_t view = 0; view < views; ++view) {
    const float* row = values.data() + view * columns;
    for (std::size_t n = 0; n < columns; ++n) {
      const std::size_t reach = std::min({static_cast<std::size_t>(width), n, columns - 1 - n});
      std::copy_n(row + n - reach, 2 * reach + 1, around.begin());
      details[n * views + view] = row[n] - median(around.data(), 2 * reach + 1);
    }
  }
  std::vector<float> offsets(columns);
  for (std::size_t n = 0; n < columns; ++n) offsets[n] = median(details.data() + n * views, views);
  return offsets;
}

}  // namespace halocline
