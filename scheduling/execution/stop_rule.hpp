// Rules that end a run early: a time limit, and Ctrl-C.
#pragma once

#include <chrono>
#include <mutex>

#include "host/system/interrupt.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

enum class StoppedBy { method, iterations, time, interrupt };

/// Number of iterations that fit into a time limit, from the time of the last ones.
class TimeLimit {
 public:
  /// Starts the clock. 0: no limit.
  explicit TimeLimit(double seconds) : seconds_(seconds), start_(Clock::now()) {}

  /// The part of `wanted` iterations that is likely to fit; 0: the time is over. The first passes are short, to learn
  /// the speed.
  int count(int wanted) const;
  /// Records the iterations done since the last call.
  void add(int count);

 private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  double seconds_;
  Clock::time_point start_;
  double last_ = 0;             // seconds at the last call of add()
  double per_iteration_ = 0;    // 0: not known; the first pass compiles kernels
  int passes_ = 0, count_ = 0;  // of the last pass
};

/// Ends all devices and slabs of a pass after the same iteration when Ctrl-C is pressed: the last one that any of them
/// has begun. Several ranks look at it between passes alone, and all stop when one of them was interrupted.
class CommonStop {
 public:
  /// keep: stop as above; otherwise iterations throw Interrupted.
  explicit CommonStop(bool keep, Ranks& ranks = one_rank()) : ranks_(ranks), keep_(keep), held_(keep) {}
  /// Gives back an interrupt without an answer: it counts in the attempt that follows.
  ~CommonStop();
  CommonStop(const CommonStop&) = delete;
  CommonStop& operator=(const CommonStop&) = delete;

  /// Begins a pass of so many iterations.
  void begin(int count);
  /// True if iterations n ... n + together - 1 of the pass are to be done. Thread-safe. Throws Interrupted unless the
  /// state is to be kept, and at the second Ctrl-C.
  bool may_begin(int n, int together = 1);
  /// Iterations that all slabs do: fewer than those of begin() after Ctrl-C.
  int count() const;
  /// True after Ctrl-C.
  bool interrupted() const { return interrupted_; }
  /// Ends the last pass: a later Ctrl-C counts as well.
  void end();
  /// The run has its result, partial or not.
  void answer() { taken_ = false; }
  /// Throws Interrupted, as the run has no result.
  [[noreturn]] void throw_answer();

 private:
  void begin_with_others();

  Ranks& ranks_;
  std::chrono::steady_clock::time_point interrupted_at_;
  bool keep_, interrupted_ = false;
  bool taken_ = false;   // of this rank, without an answer
  HeldInterrupts held_;  // Ctrl-C must not interrupt files meanwhile
  mutable std::mutex mutex_;
  int limit_ = 0, begun_ = 0;
};

}  // namespace halocline
