// The parts that solvers of penalised weighted least squares share: min_x 1/2 sum_j w_j ((A x)_j - b_j)^2 + lambda
// TV(x) over minimum <= x <= maximum.
#pragma once

#include "algorithms/solvers/certificate.hpp"
#include "algorithms/solvers/ordered_solver.hpp"

namespace halocline {

class Penalised : public OrderedSolver {
 public:
  /// order_of: as OrderedSolver has it.
  Penalised(const char* name, const ReconstructionProblem& problem,
            const std::function<std::vector<int>(int pass)>& order_of = {});

  /// tau = scale / max(d, d_0), d the largest A_s^T W A_s 1 of all subsets, d_0 a hundredth of its mean: what rays
  /// hardly see must not move at will. Writes over p and f.
  void find_steps(double scale, Array& f);
  /// x: given and cut to the bounds, or a constant within them; q = 0.
  void begin_image();
  /// The residual s W (projections - b).
  Array misfit(const Array& projections, double s = 1) const;

  TvTerm penalty;
  Array tau, p;

 private:
  const ViewSubsets& sorted_;
};

/// The method, with what all of these solvers take and need.
constexpr SolverMethod penalised_method(SolverMethod own) {
  own.weights = own.start = own.bounds = own.penalty = own.fast = own.adjoint = true;
  return own;
}

}  // namespace halocline
