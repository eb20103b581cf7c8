// The duality gap of penalised weighted least squares, as formulas of a program.
#pragma once

#include <functional>

#include "algorithms/solvers/solver.hpp"
#include "algorithms/solvers/tv_term.hpp"

namespace halocline {

/// For P(x) = 1/2 sum w (A x - b)^2 + lambda TV(x) and any dual r of the rays and q of the differences, with z = A^T r
/// and c = z - div q,
///   P(x) - P* <= gap = sum (w (A x - b) - r)^2 / (2 w) + sum (lambda |D x| - q . D x)
///                      + sum max(c, 0) (x - minimum) + max(-c, 0) (maximum - x),
/// for the minimum P* over minimum <= x <= maximum (Rockafellar 1970, section 31). No term is negative. Half the
/// squared distance of A x from that of the minimiser, weighted with w, is at most the gap: predicted projections lie
/// within sqrt(2 gap / rays) of the noise's standard deviation (RMS). Where the maximum is not given it is 1.5 times
/// the largest voxel of x.
///
/// It takes a copy of the solver's q and improves it first: primal-dual iterations (Chambolle & Pock 2011) for
/// min <z, u> + lambda TV(u) over the bounds. (In place of the solver's, the better q throws strong penalties far
/// back.)
class Certificate {
 public:
  /// Arrays of the solver. z, u, ubar: volumes; the last two are the certificate's to write. p, r: projections; p is
  /// the certificate's to write.
  struct Arrays {
    Array z, u, ubar, p, r;
  };
  /// Adds its scalars to the solver's program: "data" (1/2 sum w (A x - b)^2), "variation" (TV), "primal" (P), "dual"
  /// (the best lower bound on P* over the bounds up to "maximum", of this look and those before it with that maximum),
  /// "gap" (primal - dual), "relative_gap" (gap / primal), "maximum", and "certified", the iteration of the last look;
  /// "relative_gap before" and "certified before" are those of the look before it.
  /// may_diverge: an objective that is no number leaves the gap as it is; else it throws InputError.
  Certificate(Solver& solver, TvTerm& penalty, Arrays arrays, bool may_diverge = false);

  /// Belongs before the iterations from a start near the minimum: the solver's q becomes what suits x and z, by
  /// iterations as those of a look. Writes over u and ubar.
  void start_dual();
  /// Condition for a look: the iteration meets `ends_pass`, and ends every `every` iterations or, once between two of
  /// these, is where the last two looks say that the relative gap is parameters.gap.
  std::function<bool(const Scalars&)> due(std::function<bool(const Scalars&)> ends_pass, int every) const;
  /// States a look. Afterwards u holds no more than it. projected: p is A x already.
  void look(bool projected = false);
  /// P(x) of the look that was stated last, infinite where it or the gap is no number.
  const Scalar& objective() const { return objective_; }
  /// Ends a program: a last look, unless one was just taken, as `look` states it; then `more`; the gap map; and
  /// before that where the gap is small enough.
  void end(const std::function<void()>& look, const std::function<void()>& more = {});

 private:
  void find_maximum();
  void sum_data();
  void sum_volume();

  Solver& s_;
  TvTerm& penalty_;
  Arrays arrays_;
  bool may_diverge_;
  Variable data_, mismatch_, maximum_, variation_, primal_, dual_, dual_maximum_, gap_, relative_gap_, certified_,
      gap_before_, certified_before_;
  Scalar objective_;
};

}  // namespace halocline
