// A set of numbers, stored as ranges.
#pragma once

#include <map>
#include <vector>

#include "scheduling/planning/range.hpp"

namespace halocline {

class RangeSet {
 public:
  void add(Range range);
  /// The parts of `within` that are not in the set, ascending.
  std::vector<Range> missing(Range within) const;
  bool contains(Range range) const { return missing(range).empty(); }
  bool empty() const { return ends_.empty(); }

 private:
  std::map<std::int64_t, std::int64_t> ends_;  // by beginning; disjoint, with gaps
};

}  // namespace halocline
