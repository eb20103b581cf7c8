// The best iterate of a method that may diverge, kept beside the one that it works on.
#pragma once

#include "algorithms/expressions/recording.hpp"

namespace halocline {

/// Judges a volume x by the objective, which the method knows from time to time. Scalars: "least", the smallest so far;
/// "goes back", 1 where the objective was no number at the last look, or `too_much` times the smallest and no longer
/// small beside "value at 0", that of x = 0; "diverged", 1 once that was so.
class BestIterate {
 public:
  static constexpr double too_much = 4, small = 1e-3;

  /// Adds the volume "best" and the scalars to the program that is recorded.
  explicit BestIterate(expressions::Recording& on);
  /// The objective of x = 0.
  void at_zero(const expressions::Scalar& value) { at_zero_ = value; }
  /// Judges x, whose objective was just summed; best = x, where that is the best.
  void look(const expressions::Scalar& objective, const expressions::Array& x);
  static void judge(double objective, Scalars& known);
  /// x = best.
  void restore(expressions::Array& x) const { x = best_; }
  static bool goes_back(const Scalars& known) { return known.at("goes back") > 0; }
  const expressions::Scalar& diverged() const { return diverged_; }

 private:
  expressions::Recording& on_;
  expressions::Array best_;
  expressions::Variable at_zero_, diverged_, improved_;
};

}  // namespace halocline
