// The subsets of all passes, one an iteration of a program.
#pragma once

#include <vector>

#include "algorithms/solvers/view_subsets.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

class PassOrder {
 public:
  /// order_of(pass): the subsets of a pass, each once.
  template <class OrderOf>
  PassOrder(const ViewSubsets& subsets, int passes, OrderOf&& order_of) : count_(subsets.count()) {
    for (int pass = 0; pass < passes; ++pass)
      for (const int s : order_of(pass)) ranges_.push_back(subsets.range(s));
  }

  int pass(const Scalars& known) const { return number(known) / count_; }
  bool begins_pass(const Scalars& known) const { return number(known) % count_ == 0; }
  bool ends_pass(const Scalars& known) const { return (number(known) + 1) % count_ == 0; }
  /// True if it ends every n-th pass, except for the last one.
  bool ends_every(int n, const Scalars& known) const {
    return ends_pass(known) && (pass(known) + 1) % n == 0 && number(known) + 1 < static_cast<int>(ranges_.size());
  }
  Range views(const Scalars& known) const { return ranges_[static_cast<std::size_t>(number(known))]; }

 private:
  static int number(const Scalars& known) { return static_cast<int>(known.at(iteration_scalar)); }

  int count_;
  std::vector<Range> ranges_;
};

}  // namespace halocline
