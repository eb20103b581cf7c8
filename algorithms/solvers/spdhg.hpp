// SPDHG: penalised weighted least squares by stochastic primal-dual iterations, as a program.
#pragma once

#include <cstdint>

#include "algorithms/solvers/certificate.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/tv_term.hpp"
#include "algorithms/solvers/view_subsets.hpp"

namespace halocline {

struct SpdhgParameters {
  int passes = 100;           ///< at most: projections and back-projections of all views
  std::uint64_t seed = 1;     ///< of the order of the subsets
  bool weighted = false;      ///< there is the input "w"
  bool near_minimum = false;  ///< the given x is the result of another run, or near it: so is the penalty's dual
  bool given_start = true;    ///< x is given; else it begins with the minimum of the bounds, but at least 0
  CertificateParameters certificate;
};

/// min_x 1/2 sum_j w_j ((A x)_j - b_j)^2 + lambda TV(x) over minimum <= x <= maximum, by Chambolle, Ehrhardt, Richtarik
/// & Schonlieb 2018 with diagonal steps from the statistics (sigma = eta w, tau = 0.99 / (eta S max_s A_s^T W A_s 1),
/// so that the step condition holds for every eta). The total variation has a dual of its own, which takes a step with
/// every subset, from the extrapolated x. In pass k eta = max(0.05, 3 / (k + 4)), and every subset comes once, in an
/// order that is drawn from (seed, k). There is no parameter to choose.
///
/// A is that of the geometry sorted by subset, b and w are sorted likewise (SortedViews). An iteration of the program
/// is a subset. Inputs: projections "b", with weights "w" (not negative), the volume "x" if it is given; output: volume
/// "x". Scalars: those of the certificate. Throws InputError for an `A` that is not matched().
Program spdhg(const RayOperator& A, const ViewSubsets& subsets, const TvParameters& penalty,
              const SpdhgParameters& parameters);

}  // namespace halocline
