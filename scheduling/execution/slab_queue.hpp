// Queue of independent slabs of a plan, which devices take.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// Every device takes its own slabs of the plan, in order; then slabs from the end of another's that fit its arrays, if
/// it is expected to finish them first. Thread-safe.
class SlabQueue {
 public:
  explicit SlabQueue(const Plan& plan);

  /// Number of the next slab for `device`, if any. `seconds`: since the work began.
  std::optional<std::size_t> take(int device, double seconds);
  /// Ends the queue after a failure: take() returns nothing.
  void stop();
  /// The device that took each slab, -1 for none.
  std::vector<int> taken_by() const;

 private:
  struct Share {
    std::size_t begin = 0, end = 0;  // its slabs that no device has taken
    SlabExtent room;                 // of its arrays
    std::int64_t taken = 0;          // slices
  };
  double slices_left(const Share& share) const;
  std::size_t assign(int device, std::size_t number);

  mutable std::mutex mutex_;
  std::vector<SlabPlan> slabs_;
  std::vector<Share> shares_;  // by device
  std::vector<int> taken_by_;
  bool stopped_ = false;
};

}  // namespace halocline
