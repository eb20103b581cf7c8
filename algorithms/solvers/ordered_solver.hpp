// The parts that solvers share which go through ordered subsets of the views, one an iteration.
#pragma once

#include "algorithms/solvers/pass_order.hpp"
#include "algorithms/solvers/solver.hpp"

namespace halocline {

class OrderedSolver : public Solver {
 public:
  using Due = std::function<bool(const Scalars&)>;

  /// order_of: the subsets of a pass, in bit-reversed order where it is empty.
  OrderedSolver(const char* name, const ReconstructionProblem& problem,
                const std::function<std::vector<int>(int pass)>& order_of = {})
      : Solver(name, problem),
        subsets(problem.subsets.count()),
        views_(problem.subsets),
        order_(std::make_shared<const PassOrder>(problem.subsets, parameters.passes, [&](int pass) {
          return order_of ? order_of(pass) : problem.subsets.bit_reversed();
        })) {}

  const int subsets;

  /// Makes the statements in `body` go over the views of the iteration's subset.
  void over_subset(const Body& body) {
    over([order = order_](const Scalars& known) { return order->views(known); }, body);
  }
  /// Condition: the iteration's subset is the n-th.
  Due takes_subset(int n) const {
    return [order = order_, views = views_.range(n)](const Scalars& known) { return order->views(known) == views; };
  }
  /// Conditions: the iteration is the first or last of its pass, or of every n-th pass.
  Due begins_every(int n) const {
    return
        [order = order_, n](const Scalars& known) { return order->begins_pass(known) && order->pass(known) % n == 0; };
  }
  Due ends_pass() const {
    return [order = order_](const Scalars& known) { return order->ends_pass(known); };
  }
  /// Condition: the iteration is the last of its pass, but not of all.
  Due ends_earlier_pass() const {
    return [order = order_](const Scalars& known) { return order->ends_every(1, known); };
  }
  /// Condition: the same of the first pass and every n-th.
  Due ends_first_and_every(int n) const {
    return [order = order_, n](const Scalars& known) {
      return order->ends_every(n, known) || (order->pass(known) == 0 && order->ends_every(1, known));
    };
  }
  /// Numbers: one that follows from the pass, and 1 where the condition holds, else 0.
  Scalar by_pass(std::function<double(int pass)> function) {
    return number([order = order_, function = std::move(function)](const Scalars& known) {
      return function(order->pass(known));
    });
  }
  Scalar one_where(Due due) {
    return number([due = std::move(due)](const Scalars& known) { return due(known) ? 1.0 : 0.0; });
  }

 private:
  ViewSubsets views_;
  std::shared_ptr<const PassOrder> order_;
};

}  // namespace halocline
