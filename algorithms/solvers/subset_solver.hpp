// The parts that solvers share which go through ordered subsets of the views, one an iteration, and report by passes.
#pragma once

#include <cmath>

#include "algorithms/solvers/pass_order.hpp"
#include "algorithms/solvers/solver.hpp"

namespace halocline {

/// A program that takes its subsets in bit-reversed order. The scalar "residual" is that of a pass: the root of the sum
/// of ||(b - A x)_s||^2, each before its subset's update; at the end ||b - A x||.
class SubsetSolver : public Solver {
 public:
  SubsetSolver(const char* name, const ReconstructionProblem& problem)
      : Solver(name, problem),
        order(std::make_shared<const PassOrder>(problem.subsets, parameters.passes,
                                                [&](int) { return problem.subsets.bit_reversed(); })),
        one_subset_(problem.subsets.count() == 1) {
    if (one_subset_) inverse_ = volume("1/C", Lifetime::state);
  }

  const std::shared_ptr<const PassOrder> order;

  /// Belongs in first(): C_s = A_s^T 1 is kept if there is one subset; else each iteration computes it again.
  void begin_sums() {
    if (!one_subset_) return;
    inverse_ = adjoint(A) * constant(projections(), 1);
    inverse_ = reciprocal(inverse_);
  }
  /// 1 / C_s, 0 where C_s is 0. Writes over r.
  Array inverse_sums(Array& r) {
    if (one_subset_) return inverse_;
    r = 1;
    Array inverse = adjoint(A) * r;
    inverse = reciprocal(inverse);
    return inverse;
  }
  void over_subset(const Body& body) {
    over([order = order](const Scalars& known) { return order->views(known); }, body);
  }
  void report(const Scalar& square) {
    const auto begins = number([order = order](const Scalars& known) { return order->begins_pass(known) ? 1.0 : 0.0; });
    const auto ends = number([order = order](const Scalars& known) { return order->ends_pass(known) ? 1.0 : 0.0; });
    const Scalar sum = where(begins, square, so_far_ + square);
    residual_ = where(ends, sqrt(sum), residual_);
    so_far_ = sum;
  }
  /// Belongs in last().
  void report_all() { residual_ = sqrt(squared_distance(b, A * x)); }

 private:
  bool one_subset_;
  Array inverse_;
  Variable residual_ = number("residual"), so_far_ = number("residual so far");
};

}  // namespace halocline
