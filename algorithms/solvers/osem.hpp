// MLEM and its form with ordered subsets, OSEM, as programs.
#pragma once

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/view_subsets.hpp"

namespace halocline {

struct OsemParameters {
  int passes = 20;              ///< each of as many iterations as there are subsets
  bool from_start = false;      ///< whether the caller gives "x" its first values; else 1
  std::vector<int> order = {};  ///< of the subsets in a pass; empty: bit-reversed
  bool keep_sums = false;       ///< as OsSartParameters::keep_sums
};

/// x <- x C_s^-1 A_s^T (b / A x)_s, subset s after subset (Hudson & Larkin 1994), with C_s = A_s^T 1: for emissions b
/// it maximises the Poisson likelihood. Values of b below 0 count as 0, and so do those of a given "x". Voxels that no
/// ray of the subset meets stay as they are; those that no ray meets at all begin at 0. `A` is of the geometry that
/// `subsets` sorts, and the input projections "b" are sorted, too (SortedViews). With `from_start` another input: the
/// volume "x". Output: volume "x". Scalars "residual" and "likelihood": ||b - A x|| and the Kullback-Leibler divergence
/// sum b log(b / A x) - b + A x over rays with A x > 0, summed over the subsets of a pass, each before its update; at
/// the end of x. Throws InputError for parameters out of range.
Program osem(const RayOperator& A, const ViewSubsets& subsets, const OsemParameters& parameters);

struct MlemParameters {
  int iterations = 50;
  bool from_start = false;  ///< whether the caller gives "x" its first values; else 1
};

/// OSEM of all views as one subset (Shepp & Vardi 1982; Lange & Carson 1984). The divergence falls in every iteration,
/// and <C, x> = sum b over the rays that meet the volume. The order of views is any.
Program mlem(const RayOperator& A, const MlemParameters& parameters);

}  // namespace halocline
