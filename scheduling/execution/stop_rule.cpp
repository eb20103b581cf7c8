#include "scheduling/execution/stop_rule.hpp"

#include <algorithm>

#include "host/system/interrupt.hpp"

namespace halocline {

int TimeLimit::count(int wanted) const {
  if (!(seconds_ > 0) || wanted < 1) return wanted;
  const double left = seconds_ - elapsed();
  if (left <= 0) return 0;
  int most = passes_ == 0 ? 1 : 2 * count_;
  if (per_iteration_ > 0) {
    const double fit = left / per_iteration_;
    if (fit < 0.5) return 0;  // closer to the limit than with one more
    most = std::min(most, std::max(1, static_cast<int>(std::min(fit, 1e9))));
  }
  return std::min(wanted, most);
}

void TimeLimit::add(int count) {
  const double now = elapsed();
  if (passes_ > 0 && count > 0) per_iteration_ = (now - last_) / count;
  last_ = now;
  if (count > 0) count_ = count;
  ++passes_;
}

void CommonStop::begin(int count) {
  const std::lock_guard lock(mutex_);
  limit_ = count;
  begun_ = 0;
  if (ranks_.several()) begin_with_others();
}

// A launcher hands one Ctrl-C to the ranks at different times.
void CommonStop::begin_with_others() {
  constexpr std::chrono::seconds one_interrupt{2};
  const auto now = std::chrono::steady_clock::now();
  const bool here = keep_ ? take_interrupt() : interrupt_requested();
  taken_ = taken_ || (keep_ && here);
  if (!ranks_.any("interrupts", here && !(interrupted_ && now - interrupted_at_ < one_interrupt))) return;
  if (!keep_ || interrupted_) throw_answer();
  interrupted_ = true;
  interrupted_at_ = now;
  limit_ = 0;
}

bool CommonStop::may_begin(int n, int together) {
  const std::lock_guard lock(mutex_);
  if (!ranks_.several() && interrupt_requested()) {
    if (!keep_ || interrupted_) throw_answer();
    if (take_interrupt()) {  // no other run has taken it meanwhile
      interrupted_ = taken_ = true;
      limit_ = std::min(limit_, begun_);
    }
  }
  if (n >= limit_) return false;
  begun_ = std::max(begun_, n + together);
  return true;
}

int CommonStop::count() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

void CommonStop::end() {
  if (!keep_) return;
  const bool here = take_interrupt();
  taken_ = taken_ || here;
  if (ranks_.any("interrupts at the end", here)) interrupted_ = true;
}

void CommonStop::throw_answer() {
  answer();
  throw_interrupted();
}

CommonStop::~CommonStop() {
  if (taken_) give_back_interrupt();
}

}  // namespace halocline
