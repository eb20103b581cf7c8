// PDU: total-variation denoising with a duality-gap certificate.
#pragma once

#include <algorithm>

#include "algorithms/denoise_method.hpp"

namespace halocline {

/// min_u 1/2 ||u - f||^2 + lambda TV(u) (Rudin, Osher & Fatemi 1992), isotropic, forward differences divided by the
/// spacing, by primal-dual iterations (Zhu & Chan 2008; Chambolle & Pock 2011). Input "f", result "u". The gap is
/// primal minus dual value; ||u - u*||^2 <= 2 gap. It is evaluated at fixed iteration numbers: every 5 up to 50, every
/// 10 up to 200, then every 25, and at the end.
class Pdu : public DenoiseMethod {
 public:
  /// Uses size, spacing, iterations, lambda, gap, schedule, fused (with the standard schedule), variants.
  explicit Pdu(const MethodParameters& parameters);

  Requirements requirements() const override;
  void start(Slab& slab) const override;
  void iterate(Slab& slab, int iteration, Range core) const override;
  int together() const override { return std::max(1, parameters_.fused.stages); }
  void iterate_together(Slab& slab, int first, int count, Range core) const override;
  int next_reduction(int done) const override;
  void reduce(Slab& slab, int done, Range interior) const override;
  bool reduced(int done, std::span<const double> sums) override;
  std::string note() const override;

 protected:
  Pdu(const MethodParameters& parameters, double gamma, int components);
  /// For standard steps, these divide the dimensionless dual step; spdu puts its own.
  virtual void dual(Slab& slab, const Steps& steps, Range slices) const;
  virtual void primal(Slab& slab, const Steps& steps, Range slices) const;
  /// The dual's step along every axis, as the kernels take it.
  virtual std::array<float, 3> dual_steps(const Steps& steps) const;
  virtual bool weighted() const { return false; }
  /// From (gap, total variation, squared fidelity).
  virtual IterationRecord record(int done, std::span<const double> sums) const;

  bool extrapolates() const { return parameters_.schedule == Schedule::chambolle_pock; }
  bool fused() const { return parameters_.fused.stages > 0; }
  void declare_fused(Requirements& need) const;
  void reduce_stored(Slab& slab, Range slices) const;
  std::string dual_option() const;
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
