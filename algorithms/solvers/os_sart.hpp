// SART with ordered subsets, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/vector_steps.hpp"
#include "algorithms/solvers/view_subsets.hpp"

namespace halocline {

struct OsSartParameters {
  int passes = 20;              ///< each of as many iterations as there are subsets
  double relaxation = 1;        ///< omega of the first pass, 0 < omega < 2
  Bounds bounds = {};           ///< voxels are put into them after every iteration
  bool from_start = false;      ///< whether the caller gives "x" its first values; else 0
  std::vector<int> order = {};  ///< of the subsets in a pass; empty: bit-reversed
  /// C_s of all subsets is computed once and kept, a volume a subset. Otherwise it is computed in each iteration, which
  /// then takes more than half as long again. The bits are the same.
  bool keep_sums = false;
  double relaxation_factor = 1;  ///< by which omega falls from pass to pass, above 0, at most 1
};

/// x <- x + omega C_s^-1 A_s^T R^-1 (b - A x)_s, subset s after subset, from x = 0; R = A 1, C_s = A_s^T 1, 0 where
/// these are 0. One view a subset is SART (Andersen & Kak 1984, with the sums of the projector), all views in one SIRT.
/// `A` is of the geometry that `subsets` sorts, and the input projections "b" are sorted, too (SortedViews). With
/// `from_start` another input: the volume "x". Output: volume "x". Scalar "residual": of a pass, the root of the sum of
/// ||(b - A x)_s||^2, each before its subset's update; at the end ||b - A x||. Throws InputError for parameters out of
/// range.
Program os_sart(const RayOperator& A, const ViewSubsets& subsets, const OsSartParameters& parameters);

}  // namespace halocline
