// Borders of slabs that follow what the devices are seen to do.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "scheduling/planning/plan.hpp"

namespace halocline {

class LoadBalance {
 public:
  /// A device worked for so many seconds in a pass. By the threads of all devices.
  void add(int device, double seconds);
  /// Whether rebalanced_plan() looks at the times after the next pass.
  bool looks_after_next_pass() const { return seen_passes_ + 1 >= passes_to_see_; }
  /// After a pass of `count` iterations, `left` before the end: the slabs by what the devices were seen to do, where
  /// that saves more time than it takes to move the state. Not after every pass: times vary, and borders are not to
  /// follow them. settled: whether the times of all passes so far are known.
  std::optional<Plan> rebalanced_plan(const Plan& plan, int count, int left, bool settled);

 private:
  std::mutex mutex_;
  std::map<int, double> busy_;                          // seconds of every device in the last passes,
  int seen_ = 0, seen_passes_ = 0, passes_to_see_ = 2;  // their iterations and how many there were and are to be
};

}  // namespace halocline
