// Steps of solvers that go through ordered subsets of the views, one subset an iteration.
#pragma once

#include <string>
#include <vector>

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/vector_steps.hpp"
#include "algorithms/solvers/view_subsets.hpp"

namespace halocline {

class SubsetSteps {
 public:
  /// `order`: that of the subsets in a pass; empty: ViewSubsets::bit_reversed(). Throws InputError (`order`) if it does
  /// not have each subset once.
  SubsetSteps(const ViewSubsets& subsets, std::vector<int> order);

  int count() const { return subsets_.count(); }
  int passes_done(const Scalars& known) const;
  /// The step over the views of the subset whose turn it is.
  Step over(Step step) const;
  /// The step over those of subset s.
  Step over(Step step, int s) const;
  /// The step only where it is the turn of subset s; only in the first, the last iteration of a pass.
  Step if_subset(Step step, int s) const;
  Step if_first(Step step) const;
  Step if_last(Step step) const;
  /// For a sum over a subset: `scalar` becomes the root of the sums over the subsets of a pass, when these are
  /// complete. Adds that scalar and one for the sum to the program.
  Told keep_root_of_pass(Program& program, const std::string& scalar) const;
  Told keep_of_pass(Program& program, const std::string& scalar) const;

 private:
  int turn(const Scalars& known) const;  // the place in the pass
  Told told_of_pass(Program& program, const std::string& scalar, double (*shown)(double)) const;

  ViewSubsets subsets_;
  std::vector<int> order_;
};

/// C_s = A_s^T 1 of subset s: how often the rays of the subset meet each voxel.
class SubsetSums {
 public:
  /// Declares the volumes. `kept`: all are computed once, a volume a subset; else the one whose turn it is is computed
  /// again, by one more back-projection of the subset. A single subset is always kept.
  SubsetSums(Program& program, const RayOperator& A, const VectorSteps& vectors, const SubsetSteps& subsets, bool kept);

  /// Once, in Program::first. Overwrites the projections "r".
  std::vector<Step> first() const;
  /// In an iteration, after what needs "r": makes it, if it is not kept (in "r"), and does `use`, given the name of the
  /// volume that holds 1 / C_s, 0 where C_s is 0.
  std::vector<Step> each(const std::function<std::vector<Step>(const std::string& inverse)>& use) const;

 private:
  std::vector<Step> inverse(const std::string& name, const std::function<Step(Step)>& over) const;

  const RayOperator& A_;
  const VectorSteps& vectors_;
  const SubsetSteps& subsets_;
  bool kept_;
};

}  // namespace halocline
