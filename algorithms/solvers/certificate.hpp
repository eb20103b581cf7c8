// The duality gap of penalised weighted least squares, as formulas of a program.
#pragma once

#include <functional>

#include "algorithms/expressions/linear_operator.hpp"
#include "algorithms/solvers/tv_term.hpp"

namespace halocline {

struct CertificateParameters {
  double gap = 0.1;        ///< the relative gap to end at; 0: never
  int every = 5;           ///< passes between two looks
  int polish_steps = 100;  ///< iterations that improve the dual before each look
  bool gap_map = false;    ///< leaves the voxels' parts of the gap in a volume at the end
  /// Receives "primal" at each look, of methods that may diverge. Empty: an objective that is no number throws
  /// InputError.
  std::function<void(double primal, Scalars& known)> judge = {};
};

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
  using Array = expressions::Array;
  /// The solver's arrays. x, z, u, ubar: volumes; the last two are the certificate's to write. p, r, b, w: projections;
  /// p is the certificate's to write, w is empty without weights.
  struct Arrays {
    Array x, z, u, ubar, p, r, b, w;
  };
  /// Adds its scalars to the program that is recorded: "data" (1/2 sum w (A x - b)^2), "variation" (TV), "primal" (P),
  /// "dual" (the best lower bound on P* over the bounds up to "maximum", of this look and those before it with that
  /// maximum), "gap" (primal - dual), "relative_gap" (gap / primal), "maximum", and "certified", the iteration of the
  /// last look.
  Certificate(expressions::Recording& on, const expressions::LinearOperator& A, TvTerm& penalty,
              const CertificateParameters& parameters, Arrays arrays);

  /// Belongs before the iterations from a start near the minimum: the solver's q becomes what suits x and z, by
  /// iterations as those of a look. Writes over u and ubar.
  void start_dual();
  /// States a look. Afterwards u holds no more than it. projected: p is A x already.
  void look(bool projected = false);
  /// Ends a program: a last look, unless one was just taken, as `look` states it; then `more`; the gap map; and
  /// before that where the gap is small enough.
  void end(const std::function<void()>& look, const std::function<void()>& more = {});

 private:
  void find_maximum();
  void sum_data();
  void sum_volume() const;

  expressions::Recording& on_;
  const expressions::LinearOperator& A_;
  TvTerm& penalty_;
  CertificateParameters parameters_;
  Arrays arrays_;
  expressions::Variable data_, mismatch_, maximum_;
};

}  // namespace halocline
