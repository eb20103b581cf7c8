// The parts that solvers of penalised weighted least squares share: min_x 1/2 sum_j w_j ((A x)_j - b_j)^2 + lambda
// TV(x) over minimum <= x <= maximum.
#pragma once

#include "algorithms/solvers/certificate.hpp"
#include "algorithms/solvers/pass_order.hpp"
#include "algorithms/solvers/solver.hpp"

namespace halocline {

class Penalised : public Solver {
 protected:
  /// order: of the subsets, one an iteration.
  Penalised(const char* name, const ReconstructionProblem& problem, std::shared_ptr<const PassOrder> order);

  CertificateParameters certificate_parameters() const;
  /// tau = scale / max(d, d_0), d the largest A_s^T W A_s 1 of all subsets, d_0 a hundredth of its mean: what rays
  /// hardly see must not move at will. Writes over p and f.
  void find_steps(double scale, Array& f);
  /// x: given and cut to the bounds, or a constant within them; q = 0.
  void begin_image();
  /// The residual s W (p - b).
  Array misfit(const Array& p, double s = 1) const;
  void over_subset(const Body& body);

  const ViewSubsets& subsets_;
  const std::shared_ptr<const PassOrder> order_;
  TvTerm penalty_;
  Array tau_, p_;
};

}  // namespace halocline
