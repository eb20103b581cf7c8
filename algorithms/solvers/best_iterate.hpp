// The best iterate of a method that may diverge, kept beside the one that it works on.
#pragma once

#include <string>

#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {

/// Of the volume "x" by the objective, which the method knows from time to time. Scalars: "least", the smallest so far;
/// "least at", the number of iterations done then; "diverged", 1 once the objective was no number, or `too_much` times
/// the smallest and no longer small beside "value at 0", that of x = 0.
class BestIterate {
 public:
  static constexpr double too_much = 4, small = 1e-3;

  /// Adds the volume "best" and the scalars to the program.
  explicit BestIterate(Program& program);
  /// "value at 0" becomes 1/2 sum w b^2; `w` is empty without weights.
  static Step at_zero(const VectorSteps& vectors, const std::string& w);
  /// Tells it the objective of the x that `done` iterations have made.
  static void judge(double value, double done, Scalars& known);
  /// After judge(): best = x, where that is the best.
  Step keep(const VectorSteps& vectors) const;
  /// x = best, where the iterations diverged.
  Step restore(const VectorSteps& vectors) const;
  static bool diverged(const Scalars& known) { return known.at("diverged") > 0; }
};

}  // namespace halocline
