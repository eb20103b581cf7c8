// ASD-POCS: passes of OS-SART, each followed by steps that lower the total variation, as a program.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/vector_steps.hpp"
#include "algorithms/solvers/view_subsets.hpp"

namespace halocline {

/// Greek and Latin names are those of Sidky & Pan 2008, and so are the defaults but for `descent_length`.
struct AsdPocsParameters {
  int passes = 50;                   ///< each of as many iterations as there are subsets
  double relaxation = 1;             ///< beta of the first pass, 0 < beta < 2
  double relaxation_factor = 0.995;  ///< beta_red, by which beta falls from pass to pass
  int descent_steps = 20;            ///< n_g, of the total variation after a pass
  /// alpha: of those of the first pass, as a part of how far that pass moved x. With the paper's 0.2 it takes several
  /// times the passes until data and variation agree.
  double descent_length = 0.01;
  double descent_factor = 0.95;    ///< alpha_red, by which they become shorter where they move x too far
  double largest_ratio = 0.95;     ///< r_max: too far is more than this part of how far the pass moved x
  double data_distance = 0;        ///< epsilon: ||b - A x|| after a pass at which they become no shorter
  Bounds bounds = {.minimum = 0};  ///< voxels are put into them after every iteration, before the descent
  bool from_start = false;         ///< whether the caller gives "x" its first values; else 0
  std::vector<int> order = {};     ///< of the subsets in a pass; empty: bit-reversed
  bool keep_sums = false;          ///< as OsSartParameters::keep_sums
};

/// Lowers TV(x) = sum sqrt(|grad x|^2 + 1e-16) among images that agree with the data to `data_distance` (Sidky & Pan
/// 2008, with OS-SART in the place of ART, and backward differences divided by the edges of a voxel). A
/// heuristic: x depends on all of the parameters, and there is no objective that it minimises. `A` is of the geometry
/// that `subsets` sorts, and the input projections "b" are sorted, too (SortedViews). With `from_start` another input:
/// the volume "x". Output: volume "x", after the last descent. Scalars "residual": as os_sart(), at the end ||b - A
/// x||; "moved", "descended": how far, as a norm, the last pass and descent moved x; "step": length of the descent's
/// steps. Throws InputError for parameters out of range.
Program asd_pocs(const RayOperator& A, const ViewSubsets& subsets, const AsdPocsParameters& parameters);

}  // namespace halocline
