// PDU: total-variation denoising with a duality-gap certificate.
#pragma once

#include "algorithms/denoise_method.hpp"

namespace halocline {

/// min_u 1/2 ||u - f||^2 + lambda TV(u) (Rudin, Osher & Fatemi 1992), isotropic, forward differences divided by the
/// spacing, by primal-dual iterations (Zhu & Chan 2008; Chambolle & Pock 2011). Input "f", result "u". The gap is
/// primal minus dual value; ||u - u*||^2 <= 2 gap. It is evaluated at fixed iteration numbers: every 5 up to 50, every
/// 10 up to 200, then every 25, and at the end.
class Pdu : public DenoiseMethod {
 public:
  /// Uses size, spacing, iterations, lambda, gap, schedule, variants.
  explicit Pdu(const MethodParameters& parameters);

  Requirements requirements() const override;
  void start(Slab& slab) const override;
  void iterate(Slab& slab, int iteration, Range core) const override;
  int next_reduction(int done) const override;
  void reduce(Slab& slab, Range interior) const override;
  bool reduced(int done, std::span<const double> sums) override;
  std::string note() const override;

 protected:
  Pdu(const MethodParameters& parameters, double gamma, int components);
  /// An iteration by dual() and primal(), in the schedule's order.
  void iterate_in_two_kernels(Slab& slab, int iteration, Range core) const;
  /// For standard steps, these divide the dimensionless dual step; spdu puts its own.
  virtual void dual(Slab& slab, const Steps& steps, Range slices) const;
  virtual void primal(Slab& slab, const Steps& steps, Range slices) const;
  /// From (gap, total variation, squared fidelity).
  virtual IterationRecord record(int done, std::span<const double> sums) const;

  bool extrapolates() const { return parameters_.schedule == Schedule::chambolle_pock; }
  std::string primal_options() const { return extrapolates() ? "-D EXTRAPOLATE" : ""; }
  /// With factor: arguments of the extrapolated image that stand after "u".
  void push_extrapolation(std::vector<SlabArgument>& arguments, const Steps& steps) const;

  MethodParameters parameters_;
  double norm2_;                  // of the gradient
  std::array<float, 3> inverse_;  // 1 / spacing
  std::vector<Steps> steps_;
  SliceSums sums_;
};

}  // namespace halocline
