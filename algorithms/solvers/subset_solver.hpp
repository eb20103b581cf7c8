// The parts that solvers share which go through ordered subsets of the views, one an iteration, and report by passes.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <vector>

#include "algorithms/solvers/ordered_solver.hpp"

namespace halocline {

/// A program that takes its subsets in bit-reversed order. The scalar "residual" is that of a pass: the root of the sum
/// of ||(b - A x)_s||^2, each before its subset's update; at the end ||b - A x||.
class SubsetSolver : public OrderedSolver {
 public:
  SubsetSolver(const char* name, const ReconstructionProblem& problem) : OrderedSolver(name, problem) {
    if (subsets > 1 && !problem.keeps_sums) return;
    for (int n = 0; n < subsets; ++n) inverse_.push_back(volume(fmt::format("1/C {}", n), Lifetime::iteration));
    derived([&] {
      for (int n = 0; n < subsets; ++n)
        over([views = problem.subsets.range(n)](const Scalars&) { return views; },
             [&, &inverse = inverse_[static_cast<std::size_t>(n)]] {
               inverse = adjoint(A) * constant(projections(), 1);
               inverse = reciprocal(inverse);
             });
    });
  }

  /// States `update` with 1 / C_s, 0 where C_s = A_s^T 1 is 0. Writes over r where an iteration computes it again.
  void with_inverse_sums(Array& r, const std::function<void(const Array& inverse)>& update) {
    if (inverse_.empty()) {
      r = 1;
      Array inverse = adjoint(A) * r;
      inverse = reciprocal(inverse);
      return update(inverse);
    }
    if (subsets == 1) return update(inverse_.front());
    for (int n = 0; n < subsets; ++n) when(takes_subset(n), [&] { update(inverse_[static_cast<std::size_t>(n)]); });
  }
  void report(const Scalar& square) {
    const Scalar sum = where(one_where(begins_every(1)), square, so_far_ + square);
    residual_ = where(one_where(ends_pass()), sqrt(sum), residual_);
    so_far_ = sum;
  }
  /// Belongs in last().
  void report_all() { residual_ = sqrt(squared_distance(b, exact_A * x)); }

 private:
  std::vector<Array> inverse_;  // of each subset; empty: not kept
  Variable residual_ = number("residual"), so_far_ = number("residual so far");
};

}  // namespace halocline
