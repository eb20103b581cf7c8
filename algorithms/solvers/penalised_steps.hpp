// Steps that solvers of penalised weighted least squares share (cl/penalised.cl).
#pragma once

#include <string>
#include <vector>

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/tv_term.hpp"
#include "algorithms/solvers/vector_steps.hpp"
#include "algorithms/solvers/view_subsets.hpp"

namespace halocline {

/// Of a program with projections "b", "p" and, if it is `weighted`, "w".
class PenalisedSteps {
 public:
  PenalisedSteps(const RayOperator& A, const VectorSteps& vectors, bool weighted)
      : A_(A), vectors_(vectors), weighted_(weighted) {}

  /// Declares "x" (output, given or not), "tau", "b", "p", and "w".
  static void declare(Program& program, bool weighted, bool given_start);
  /// x cut to the bounds, or a constant within them; q = 0.
  std::vector<Step> start(const TvTerm& penalty, bool given_start) const;
  /// p = W A 1; uses the volume u.
  std::vector<Step> weighted_rows(const std::string& u) const;
  /// Of p = W A 1: tau = max_s A_s^T p over the subsets; uses the volume u. S tau is at least S A_s^T W A_s for each s.
  std::vector<Step> largest_of_subsets(const ViewSubsets& subsets, const std::string& u) const;
  /// tau = scale / tau, where tau is at least a hundredth of its mean: what rays hardly see must not move at will.
  std::vector<Step> invert(double scale) const;
  /// tau = scale / (tau + its mean).
  std::vector<Step> primal_steps(double scale) const;
  /// p = s w (p - b).
  Step residual(double s, const std::string& p) const;
  /// The data term's proximal step: p = factor (w (p - b) - r), r = r + p.
  Step rays(Factor factor) const;
  Step voxels(const char* kernel, const std::vector<ArrayAccess>& arrays, std::vector<Factor> factors) const;

 private:
  Step mean() const;
  KernelSpec kernel(const std::string& name) const { return {"penalised.cl", name, weighted_ ? "-D WEIGHTED" : ""}; }
  std::vector<ArrayAccess> with_data(const std::vector<ArrayAccess>& more) const;

  const RayOperator& A_;
  const VectorSteps& vectors_;
  bool weighted_;
};

}  // namespace halocline
