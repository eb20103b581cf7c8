#include "scheduling/execution/slab_queue.hpp"

#include <algorithm>

namespace halocline {

SlabQueue::SlabQueue(const Plan& plan) : slabs_(plan.slabs), taken_by_(plan.slabs.size(), -1) {
  for (std::size_t n = 0; n < slabs_.size(); ++n) {
    const SlabPlan& slab = slabs_[n];
    const auto device = static_cast<std::size_t>(slab.device);
    if (shares_.size() <= device) shares_.resize(device + 1);
    Share& share = shares_[device];
    if (share.end == 0) share.begin = n;
    share.end = n + 1;
    share.room.include(slab);
  }
}

double SlabQueue::slices_left(const Share& share) const {
  double left = 0;
  for (auto n = share.begin; n < share.end; ++n) left += static_cast<double>(slabs_[n].interior.count());
  return left;
}

std::size_t SlabQueue::assign(int device, std::size_t number) {
  taken_by_[number] = device;
  shares_[static_cast<std::size_t>(device)].taken += slabs_[number].interior.count();
  return number;
}

std::optional<std::size_t> SlabQueue::take(int device, double seconds) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return std::nullopt;
  Share& own = shares_.at(static_cast<std::size_t>(device));
  if (own.begin < own.end) return assign(device, own.begin++);
  Share* slowest = nullptr;
  double longest = 0;
  for (Share& other : shares_) {
    if (other.begin == other.end || other.taken == 0) continue;
    const SlabPlan& last = slabs_[other.end - 1];
    if (last.extended.count() > own.room.slices || last.rows.count() > own.room.rows) continue;
    // the other's current slab counts as done, so its time is underestimated
    const double others_time = slices_left(other) / static_cast<double>(other.taken) * seconds,
                 own_time = static_cast<double>(last.interior.count()) / static_cast<double>(own.taken) * seconds;
    if (own_time > others_time || others_time <= longest) continue;
    slowest = &other;
    longest = others_time;
  }
  if (slowest == nullptr) return std::nullopt;
  return assign(device, --slowest->end);
}

void SlabQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

std::vector<int> SlabQueue::taken_by() const {
  const std::lock_guard lock(mutex_);
  return taken_by_;
}

}  // namespace halocline
