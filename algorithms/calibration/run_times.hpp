// Seconds of the same work, run several times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace halocline {

struct RunTimes {
  double least = 0, median = 0;
  std::size_t runs = 0;

  RunTimes() = default;
  explicit RunTimes(std::vector<double> seconds) : runs(seconds.size()) {
    if (seconds.empty()) return;
    std::sort(seconds.begin(), seconds.end());
    least = seconds.front();
    median = seconds[seconds.size() / 2];
  }
  /// How much longer the run in the middle took than the shortest, as a part of it.
  double spread() const { return least > 0 ? median / least - 1 : 0; }
};

}  // namespace halocline
