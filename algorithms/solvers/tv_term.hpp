// The penalty of solvers, lambda TV(x) with bounds, as steps of a program: the denoiser's iterations as its proximal
// operator, and its part of the duality gap.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "algorithms/denoisers/regulariser.hpp"
#include "algorithms/expressions/recording.hpp"
#include "algorithms/support/slice_sums.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// lambda sum phi((P D x)_i) over minimum <= x <= maximum (Regulariser). D in 1/mm, so lambda is in mm times the unit
/// of the data term, for x in 1/mm.
struct TvParameters {
  double lambda = 0;
  Regulariser regulariser;  ///< minimum has to be finite
};

class TvTerm {
 public:
  using Array = expressions::Array;
  using Scalar = expressions::Scalar;

  /// Adds the dual volumes "qx", "qy", "qz" (|q| <= lambda) to the program that is recorded, those of its certificate,
  /// with a guided regulariser the input "reference", and room for halos. Its statements are recorded there.
  TvTerm(expressions::Recording& on, const TvParameters& parameters);

  /// The bound of a penalty's voxels: 0 where none is given.
  static double minimum_of(const Regulariser& regulariser);

  /// q = 0.
  void start();
  /// One dual and one primal iteration of S-PDU (spdu.hpp) towards
  ///   argmin_x sum (x_i - f_i)^2 / (2 tau_i) + lambda TV(x),
  /// from the x and q that it finds. Where tau > 0 enough such steps give the minimiser; solvers that call it with a
  /// slowly changing f need one (q is kept).
  void prox(const Array& f, const Array& tau, const Array& x) const;
  /// z gets carry pending; then x = cut(x + tau (div q - z - more pending)), ubar = 2 x - x before, and a dual
  /// iteration of S-PDU from ubar: the step of x and q in primal-dual solvers whose data term has its own dual (Condat
  /// 2013, algorithm 3.1). Without the extrapolation the objective grows again after many steps where lambda is large.
  void prox_from(const Array& z, const Array& pending, const Array& tau, const Array& x, const Array& ubar,
                 const Scalar& carry, const Scalar& more) const;
  /// The certificate's own q becomes q.
  void copy_dual();
  /// An iteration of Chambolle & Pock 2011 (algorithm 1) for min <z, u> + lambda TV(u) over minimum <= u <= maximum,
  /// which improves the certificate's q for the data term's gradient z.
  void polish(const Array& z, const Array& u, const Array& ubar, const Scalar& maximum) const;
  /// Improves the solver's own q.
  void improve(const Array& z, const Array& u, const Array& ubar, const Scalar& maximum) const;
  /// The sums of cl/tv_term.cl's tv_term_certificate.
  struct GapTerms {
    Scalar bound, below, below_x, variation;
  };
  /// Those of x, the data term's gradient z and the certificate's q.
  GapTerms gap_terms(const Array& x, const Array& z) const;
  /// map = the part of each voxel in the gap over values up to `maximum`.
  void gap_map(const Array& x, const Array& z, const Array& map, const Scalar& maximum) const;
  /// The certificate's q lives to the end of the program.
  void keep_polished() const;
  double lambda() const { return parameters_.lambda; }
  double minimum() const { return parameters_.regulariser.minimum; }
  double maximum() const { return parameters_.regulariser.maximum; }

 private:
  class Kernels;
  using Duals = std::array<Array, 3>;
  struct Role;
  Step step_of(const char* name, const std::vector<Role>& roles, const Duals& q, Access access,
               std::function<void(Slab&, const Scalars&)> work) const;
  void ascent(const char* name, const Duals& q, const Array& z, const Array& u, const Array& ubar,
              const Scalar& maximum) const;

  TvParameters parameters_;
  std::shared_ptr<const Kernels> kernels_;
  expressions::Recording& on_;
  Duals q_, polished_;
};

}  // namespace halocline
