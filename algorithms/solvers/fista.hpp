// FISTA: penalised weighted least squares by accelerated gradient steps, as a program.
#pragma once

#include "algorithms/solvers/best_iterate.hpp"
#include "algorithms/solvers/certificate.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/tv_term.hpp"
#include "algorithms/solvers/view_subsets.hpp"

namespace halocline {

struct FistaParameters {
  int passes = 100;           ///< at most: projections and back-projections of all views
  int prox_steps = 8;         ///< iterations of S-PDU a gradient step
  bool weighted = false;      ///< there is the input "w"
  bool near_minimum = false;  ///< the given x is the result of another run, or near it: so is the penalty's dual
  bool given_start = true;    ///< x is given; else it begins with the minimum of the bounds, but at least 0
  CertificateParameters certificate{.every = 10};
};

/// min_x 1/2 sum_j w_j ((A x)_j - b_j)^2 + lambda TV(x) over minimum <= x <= maximum (Beck & Teboulle 2009): with
/// d = A^T W A 1, for which A^T W A <= diag d (Erdogan & Fessler 1999),
///   x+ = prox(y - d^-1 g),  g = S A_s^T W_s (A_s y - b_s),  y = x+ + (t - 1) / t+ (x+ - x),  t+ = (1 + sqrt(1 + 4
///   t^2)) / 2.
/// With all views in each step the momentum restarts where <d (y - x+), x+ - x> > 0 (O'Donoghue & Candes 2015). With
/// S > 1 subsets in bit-reversed order (Kim, Ramani & Fessler 2015) the first passes are faster, and the iterates end
/// near the minimum, not at it. Their d is S max_s A_s^T W A_s 1, which bounds each subset's share, so that steps
/// without momentum bring no two images farther apart. Momentum may amplify what subsets of few views lack of the
/// whole: where a look sees so, they go back to the image of the least objective so far (BestIterate), and on without
/// it. The proximal operator is that many warm iterations of S-PDU.
///
/// Inputs, output and order of views as spdhg(). Scalars: those of the certificate; with subsets, of BestIterate, too.
/// Throws InputError for an `A` that is not matched().
Program fista(const RayOperator& A, const ViewSubsets& subsets, const TvParameters& penalty,
              const FistaParameters& parameters);

}  // namespace halocline
