// PDHG: penalised weighted least squares by primal-dual iterations with the total variation in the dual, as a program.
#pragma once

#include "algorithms/solvers/certificate.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/tv_term.hpp"

namespace halocline {

struct PdhgParameters {
  int passes = 300;           ///< at most: projections and back-projections of all views
  bool weighted = false;      ///< there is the input "w"
  bool near_minimum = false;  ///< the given x is the result of another run, or near it: so is the penalty's dual
  bool given_start = true;    ///< x is given; else it begins with the minimum of the bounds, but at least 0
  CertificateParameters certificate{.every = 10};
};

/// min_x 1/2 sum_j w_j ((A x)_j - b_j)^2 + lambda TV(x) over minimum <= x <= maximum (Chambolle & Pock 2011, with the
/// diagonal steps of Pock & Chambolle 2011): sigma = eta w of the rays, sigma_D of the differences, tau = 0.99 / (eta d
/// + sigma_D ||D||^2) with d = A^T W A 1 and sigma_D ||D||^2 = eta mean(d). What others use; to compare with. Inputs
/// and output as spdhg(), views in any order. Scalars: those of the certificate. Throws as spdhg() does.
Program pdhg(const RayOperator& A, const TvParameters& penalty, const PdhgParameters& parameters);

}  // namespace halocline
