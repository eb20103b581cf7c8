#include "scheduling/planning/range_set.hpp"

#include <iterator>

namespace halocline {

void RangeSet::add(Range range) {
  if (range.empty()) return;
  auto next = ends_.upper_bound(range.begin);
  if (next != ends_.begin() && std::prev(next)->second >= range.begin) --next;
  while (next != ends_.end() && next->first <= range.end) {
    range.begin = std::min(range.begin, next->first);
    range.end = std::max(range.end, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace(range.begin, range.end);
}

std::vector<Range> RangeSet::missing(Range within) const {
  std::vector<Range> result;
  auto next = ends_.upper_bound(within.begin);
  if (next != ends_.begin()) within.begin = std::max(within.begin, std::prev(next)->second);
  for (; next != ends_.end() && next->first < within.end; ++next) {
    result.push_back({within.begin, next->first});
    within.begin = next->second;
  }
  if (!within.empty()) result.push_back(within);
  return result;
}

}  // namespace halocline
