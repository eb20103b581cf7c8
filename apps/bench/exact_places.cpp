#include "apps/bench/exact_places.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/support/philox.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {

std::vector<Index3> places_of(const Index3& size) {
  PhiloxStream random(1, 0, 0);
  std::vector<Index3> result(exact_places);
  for (Index3& element : result)
    for (int axis = 0; axis < 3; ++axis)
      element[axis] =
          std::min(size[axis] - 1, static_cast<std::size_t>(random.uniform() * static_cast<double>(size[axis])));
  return result;
}

ValueAt bench_values(const Grid& grid) {
  return [size = grid.size](std::size_t x, std::size_t y, std::size_t z) {
    return static_cast<double>(bench_number(size, x, y, z));
  };
}

double ExactValues::relative_rmse(const std::vector<float>& found) const {
  double squares = 0, largest = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    const double difference = static_cast<double>(found[n]) - values[n];
    squares += difference * difference;
    largest = std::max(largest, std::abs(values[n]));
  }
  return squares > 0 ? std::sqrt(squares / static_cast<double>(values.size())) / largest : 0;
}

ExactValues exact_values(const std::function<ExactSum(std::size_t place)>& sum) {
  std::vector<ExactSum> sums(exact_places);
  parallel_parts(exact_places, [&](std::size_t n) {
    check_interrupt();
    sums[n] = sum(n);
  });
  ExactValues exact;
  for (const ExactSum& each : sums) {
    exact.values.push_back(each.value);
    exact.terms += static_cast<double>(each.terms) / static_cast<double>(exact_places);
  }
  return exact;
}

}  // namespace halocline
