// Timer for checkpoints: at fixed intervals, but no more than a tenth of the time is spent on them.
#pragma once

#include <algorithm>
#include <chrono>

namespace halocline {

class CheckpointTimer {
 public:
  /// every: seconds; 0: always due.
  explicit CheckpointTimer(double every) : every_(every), due_(Clock::now() + span(every)) {}

  /// True if a checkpoint is due now or within a twentieth of the interval.
  bool is_due() const { return !(every_ > 0) || Clock::now() + span(every_ / 20) >= due_; }
  double seconds_left() const { return std::chrono::duration<double>(due_ - Clock::now()).count(); }
  /// Restarts the timer after a checkpoint that took so many seconds.
  void kept(double seconds) { due_ = Clock::now() + span(std::max(every_, least_between * seconds)); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double least_between = 9;  // times the duration of a checkpoint
  static Clock::duration span(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
  }

  double every_;
  Clock::time_point due_;
};

}  // namespace halocline
