// Load balance: borders of slabs by the measured speeds of devices.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "scheduling/planning/plan.hpp"

namespace halocline {

class LoadBalance {
 public:
  /// Adds the seconds that a device worked in a pass. Called by the threads of all devices.
  void add(int device, double seconds);
  /// True if rebalanced_plan() needs the times of the next pass.
  bool looks_after_next_pass() const { return seen_passes_ + 1 >= passes_to_see_; }
  /// Returns slabs with better borders after a pass of `count` iterations, `left` before the end, if they save more
  /// time than it takes to move the state. Not after every pass, because times vary. settled: the times of all passes
  /// so far are known.
  std::optional<Plan> rebalanced_plan(const Plan& plan, int count, int left, bool settled);

 private:
  std::mutex mutex_;
  std::map<int, double> busy_;                          // seconds of each device in the last passes
  int seen_ = 0, seen_passes_ = 0, passes_to_see_ = 2;  // iterations, passes, passes until the next look
};

}  // namespace halocline
