// How a run ends before its iterations are done, other than by its method: time, and Ctrl-C.
#pragma once

#include <chrono>
#include <mutex>

#include "host/system/interrupt.hpp"

namespace halocline {

/// What ended a run.
enum class StoppedBy { method, iterations, time, interrupt };

/// How many iterations fit before a time is over, from how long the last ones took.
class TimeLimit {
 public:
  /// From now on. 0: no limit.
  explicit TimeLimit(double seconds) : seconds_(seconds), start_(Clock::now()) {}

  /// Of `wanted` iterations those that are likely to fit; 0: the time is over. The first passes are short, to learn the
  /// speed.
  int count(int wanted) const;
  /// So many iterations have been done since the last call.
  void did(int count);

 private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  double seconds_;
  Clock::time_point start_;
  double last_ = 0;             // seconds at the last call of did()
  double per_iteration_ = 0;    // 0: not known; the first pass compiles kernels and tells nothing
  int passes_ = 0, count_ = 0;  // of the last pass
};

/// Lets all devices and slabs of a pass end after the same iteration when Ctrl-C is pressed: no later than the one that
/// the farthest of them has begun.
class CommonStop {
 public:
  /// keep: stop as above; otherwise iterations throw Interrupted.
  explicit CommonStop(bool keep) : keep_(keep), held_(keep) {}

  /// A pass of so many iterations begins.
  void begin(int count);
  /// Whether iterations n ... n + together - 1 of the pass are to be done. By any thread. Throws Interrupted unless the
  /// state is to be kept, and at the second Ctrl-C.
  bool go(int n, int together = 1);
  /// Iterations that all slabs do: fewer than begin() said after Ctrl-C.
  int count() const;
  /// Ctrl-C was pressed and has been answered.
  bool interrupted() const { return interrupted_; }
  /// After the last pass: a Ctrl-C that came too late to change anything counts, too.
  void end();

 private:
  bool keep_, interrupted_ = false;
  HeldInterrupts held_;  // files that are read and written meanwhile must not end the run
  mutable std::mutex mutex_;
  int limit_ = 0, begun_ = 0;
};

}  // namespace halocline
