// Seconds of the stages of a job.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace halocline {

class StageTimes {
 public:
  /// Runs `work` and adds its seconds to those of `stage`.
  template <typename Work>
  auto timed(const std::string& stage, Work&& work) {
    const Stopwatch stopwatch{seconds_[stage]};
    return work();
  }
  const std::map<std::string, double>& seconds() const { return seconds_; }
  /// Adds the time since the beginning as "total".
  void stop() { seconds_["total"] = std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Stopwatch {
    double& seconds;
    Clock::time_point start = Clock::now();
    ~Stopwatch() { seconds += std::chrono::duration<double>(Clock::now() - start).count(); }
  };
  std::map<std::string, double> seconds_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace halocline
