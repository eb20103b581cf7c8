// Seconds of the same work, run several times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace halocline {

struct RunTimes {
  double least = 0, median = 0, mean = 0;
  double deviation = 0;  ///< standard deviation of the runs; 0 of one run
  std::size_t runs = 0;

  RunTimes() = default;
  explicit RunTimes(std::vector<double> seconds) : runs(seconds.size()) {
    if (seconds.empty()) return;
    std::sort(seconds.begin(), seconds.end());
    least = seconds.front();
    median = seconds[seconds.size() / 2];
    for (const double each : seconds) mean += each / static_cast<double>(runs);
    double squares = 0;
    for (const double each : seconds) squares += (each - mean) * (each - mean);
    if (runs > 1) deviation = std::sqrt(squares / static_cast<double>(runs - 1));
  }
  /// The times of runs that do the same `parts` times.
  RunTimes over(double parts) const {
    RunTimes times = *this;
    for (double* each : {&times.least, &times.median, &times.mean, &times.deviation}) *each /= parts;
    return times;
  }
  /// The times of what comes after a part of the runs that takes so many seconds.
  RunTimes after(double seconds) const {
    RunTimes times = *this;
    for (double* each : {&times.least, &times.median, &times.mean}) *each -= seconds;
    return times;
  }
  /// How much longer the run in the middle took than the shortest, as a part of it.
  double spread() const { return least > 0 ? median / least - 1 : 0; }
};

}  // namespace halocline
