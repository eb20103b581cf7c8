// When a run keeps its state: every so many seconds, and so that no more than a tenth of the time goes into it.
#pragma once

#include <algorithm>
#include <chrono>

namespace halocline {

class CheckpointTimer {
 public:
  /// every: seconds; 0: whenever it is asked.
  explicit CheckpointTimer(double every) : every_(every), due_(Clock::now() + span(every)) {}

  /// Or will be after a twentieth of that time.
  bool is_due() const { return !(every_ > 0) || Clock::now() + span(every_ / 20) >= due_; }
  double seconds_left() const { return std::chrono::duration<double>(due_ - Clock::now()).count(); }
  /// Keeping the state took so many seconds.
  void kept(double seconds) { due_ = Clock::now() + span(std::max(every_, least_between * seconds)); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double least_between = 9;  // times as long as it took
  static Clock::duration span(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
  }

  double every_;
  Clock::time_point due_;
};

}  // namespace halocline
