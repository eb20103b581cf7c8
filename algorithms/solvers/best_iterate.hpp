// The best iterate of a method that may diverge, kept beside the one that it works on.
#pragma once

#include <string>

#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {

/// Of the volume "x" by the objective, which the method knows from time to time. Scalars: "least", the smallest so far;
/// "goes back", 1 where the objective was no number at the last look, or `too_much` times the smallest and no longer
/// small beside "value at 0", that of x = 0; "diverged", 1 once that was so.
class BestIterate {
 public:
  static constexpr double too_much = 4, small = 1e-3;

  /// Adds the volume "best" and the scalars to the program.
  explicit BestIterate(Program& program);
  /// "value at 0" becomes 1/2 sum w b^2; `w` is empty without weights.
  static Step at_zero(const VectorSteps& vectors, const std::string& w);
  /// Takes the objective of x.
  static void judge(double value, Scalars& known);
  /// After judge(): best = x, where that is the best.
  Step keep(const VectorSteps& vectors) const;
  /// x = best.
  Step restore(const VectorSteps& vectors) const;
  static bool goes_back(const Scalars& known) { return known.at("goes back") > 0; }
  static bool diverged(const Scalars& known) { return known.at("diverged") > 0; }
};

}  // namespace halocline
