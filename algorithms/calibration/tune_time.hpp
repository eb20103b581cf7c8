// Division of the seconds of a tuning among its parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace halocline {

class TuneTime {
 public:
  /// clock: seconds since any moment.
  TuneTime(double seconds, std::function<double()> clock)
      : seconds_(seconds), clock_(std::move(clock)), start_(clock_()) {}

  double spent() const { return clock_() - start_; }
  /// Begins one of `parts` that are left, which share the remaining time equally. false: there is no time for it, not
  /// even for the time that must_take() was given for another.
  bool begin(std::size_t parts) {
    const double left = seconds_ - spent();
    if (left <= 0 || left < least_) return false;
    until_ = spent() + left / static_cast<double>(parts);
    return true;
  }
  /// Records the time that a part took before anything was measured: its kernels were compiled, and ran once.
  void must_take(double seconds) { least_ = std::max(least_, seconds); }
  /// Seconds of the part's share.
  double left() const { return until_ - spent(); }
  bool fits(double seconds) const { return seconds <= left(); }

 private:
  double seconds_;
  std::function<double()> clock_;
  double start_, until_ = 0, least_ = 0;
};

}  // namespace halocline
