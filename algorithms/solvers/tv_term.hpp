// The penalty of solvers, lambda TV(x) with bounds, as steps of a program: the denoiser's iterations as its proximal
// operator, and its part of the duality gap.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/denoisers/regulariser.hpp"
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
  using Value = std::function<double(const Scalars&)>;

  TvTerm(const Grid& volume, const TvParameters& parameters);

  /// Adds the dual volumes "qx", "qy", "qz" (|q| <= lambda) to the program, with a guided regulariser the input
  /// "reference", and room for halos. Needs the sums of a program with at least 4 components (SliceSums).
  void declare(Program& program) const;
  /// q = 0.
  Step start() const;
  /// One dual and one primal iteration of S-PDU (spdu.hpp) towards
  ///   argmin_x sum (x_i - f_i)^2 / (2 tau_i) + lambda TV(x),
  /// from the x and q that it finds; `f`, `tau`, `x` are volumes of the program. Where tau > 0 enough such steps give
  /// the minimiser; solvers that call it with a slowly changing f need one (q is kept).
  Step prox(const std::string& f, const std::string& tau, const std::string& x) const;
  /// z gets carry pending; then x = cut(x + tau (div q - z - more pending)), ubar = 2 x - x before, and a dual
  /// iteration of S-PDU from ubar: the step of x and q in primal-dual solvers whose data term has its own dual (Condat
  /// 2013, algorithm 3.1). Without the extrapolation the objective grows again after many steps where lambda is large.
  Step prox_from(const std::string& z, const std::string& pending, const std::string& tau, const std::string& x,
                 const std::string& ubar, Value carry, Value more) const;
  /// The names of q and of the volumes that are a certificate's own q.
  std::map<std::string, std::string> polished_duals() const;
  /// An iteration of Chambolle & Pock 2011 (algorithm 1) for min <z, u> + lambda TV(u) over minimum <= u <= maximum,
  /// which improves the certificate's q for the data term's gradient z.
  Step polish(const std::string& z, const std::string& u, const std::string& ubar, Value maximum) const;
  /// The same of the solver's own q.
  Step improve(const std::string& z, const std::string& u, const std::string& ubar, Value maximum) const;
  /// A primal-dual iteration for <z, u> + lambda TV(u) with a primal step for each voxel: u = cut(u + step (div q -
  /// z)), ubar = 2 u - u before, q = Proj(q + dual_step D ubar).
  Step primal_dual(const std::string& z, const std::string& steps, const std::string& u, const std::string& ubar,
                   Value dual_step) const;
  /// ||D||^2, in 1/mm^2.
  double gradient_norm2() const;
  /// Told the sums of cl/tv_term.cl's tv_term_certificate for x, the data term's gradient z and the certificate's q.
  Step certificate(const std::string& x, const std::string& z,
                   std::function<void(std::span<const double>, Scalars&)> told) const;
  /// map = the part of each voxel in the gap over values up to `maximum`.
  Step gap_map(const std::string& x, const std::string& z, const std::string& map, Value maximum) const;
  double lambda() const { return parameters_.lambda; }
  double minimum() const { return parameters_.regulariser.minimum; }
  double maximum() const { return parameters_.regulariser.maximum; }

 private:
  class Iteration;
  std::function<void(Slab&, const WorkRange&, const Scalars&)> polishing(const std::string& z, const std::string& u,
                                                                         const std::string& ubar, Value maximum) const;
  std::vector<ArrayAccess> with(std::span<const char* const> q, std::vector<ArrayAccess> arrays, Access access) const;
  std::vector<ArrayAccess> with_duals(std::vector<ArrayAccess> arrays, Access duals) const;
  Step of_certificate(const char* name, std::vector<ArrayAccess> arrays, Access duals) const;

  TvParameters parameters_;
  std::shared_ptr<const Iteration> iteration_;
};

}  // namespace halocline
