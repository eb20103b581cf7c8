// The parts that solvers share which go through ordered subsets of the views, one an iteration, and report by passes.
#pragma once

#include <cmath>

#include "algorithms/solvers/ordered_solver.hpp"

namespace halocline {

/// A program that takes its subsets in bit-reversed order. The scalar "residual" is that of a pass: the root of the sum
/// of ||(b - A x)_s||^2, each before its subset's update; at the end ||b - A x||.
class SubsetSolver : public OrderedSolver {
 public:
  SubsetSolver(const char* name, const ReconstructionProblem& problem) : OrderedSolver(name, problem) {
    if (subsets == 1) inverse_ = volume("1/C", Lifetime::state);
  }

  /// Belongs in first(): C_s = A_s^T 1 is kept if there is one subset; else each iteration computes it again.
  void begin_sums() {
    if (subsets > 1) return;
    inverse_ = adjoint(A) * constant(projections(), 1);
    inverse_ = reciprocal(inverse_);
  }
  /// 1 / C_s, 0 where C_s is 0. Writes over r.
  Array inverse_sums(Array& r) {
    if (subsets == 1) return inverse_;
    r = 1;
    Array inverse = adjoint(A) * r;
    inverse = reciprocal(inverse);
    return inverse;
  }
  void report(const Scalar& square) {
    const Scalar sum = where(one_where(begins_every(1)), square, so_far_ + square);
    residual_ = where(one_where(ends_pass()), sqrt(sum), residual_);
    so_far_ = sum;
  }
  /// Belongs in last().
  void report_all() { residual_ = sqrt(squared_distance(b, exact_A * x)); }

 private:
  Array inverse_;
  Variable residual_ = number("residual"), so_far_ = number("residual so far");
};

}  // namespace halocline
