// The formulas of SART with ordered subsets, which ASD-POCS has, too.
#pragma once

#include "algorithms/solvers/subset_solver.hpp"

namespace halocline {

class OsSart : public SubsetSolver {
 public:
  /// relaxation_factor: by which omega falls from pass to pass.
  OsSart(const char* name, const ReconstructionProblem& problem, double relaxation_factor = 1);
  /// Belongs in first().
  void begin();
  /// Belongs in each().
  void iterate();

 private:
  Array inverse_R_;
  Scalar omega_;
};

}  // namespace halocline
