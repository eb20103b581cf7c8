// Which device works on which slab of a plan, when slabs do not depend on each other.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// Every device takes its own slabs of the plan, in order; then one that its arrays can hold from the end of another's,
/// if at the rates seen so far it will have done with it before the other would have done with all of its own. May be
/// called by several threads at a time.
class SlabQueue {
 public:
  explicit SlabQueue(const Plan& plan);

  /// Number of the next slab of `device`, nothing if there is none for it. `seconds`: since the work began.
  std::optional<std::size_t> take(int device, double seconds);
  /// A device has failed, so what nobody has taken will be planned again: from now on take() gives nothing.
  void stop();
  /// By slab: the device that took it, -1 for none yet.
  std::vector<int> taken_by() const;

 private:
  struct Share {
    std::size_t begin = 0, end = 0;  // its slabs that no device has taken
    SlabExtent room;                 // of its arrays
    std::int64_t taken = 0;          // slices
  };
  double slices_left(const Share& share) const;
  std::size_t give(int device, std::size_t number);

  mutable std::mutex mutex_;
  std::vector<SlabPlan> slabs_;
  std::vector<Share> shares_;  // by device
  std::vector<int> taken_by_;
  bool stopped_ = false;
};

}  // namespace halocline
