// PDU: total-variation denoising with a duality-gap certificate.
#pragma once

#include <algorithm>

#include "algorithms/denoisers/denoise_method.hpp"
#include "algorithms/denoisers/gap_rule.hpp"

namespace halocline {

/// min_u 1/2 ||u - f||^2 + lambda TV(u) (Rudin, Osher & Fatemi 1992), isotropic, forward differences divided by the
/// spacing, by primal-dual iterations (Zhu & Chan 2008; Chambolle & Pock 2011). Input "f", result "u". The gap is
/// primal minus dual value; ||u - u*||^2 <= 2 gap. It is evaluated where GapRule says, and at the end. A path of
/// several lambda starts each from u and q of the one before: the first dual step projects q to the new lambda. That
/// needs fewer iterations than starting again (5 to 30 % where neighbours differ by less than 2), and nothing else.
class Pdu : public DenoiseMethod {
 public:
  /// Uses size, spacing, iterations, lambda or path, gap, schedule, fused (with a dimensionless schedule), variants.
  explicit Pdu(const MethodParameters& parameters);

  Requirements requirements() const override;
  void begin() override;
  void start(Slab& slab) const override;
  void iterate(Slab& slab, int iteration, Range core) const override;
  int together() const override { return std::max(1, parameters_.fused.stages); }
  void iterate_together(Slab& slab, int first, int count, Range core) const override;
  bool takes_parts(const Slab&) const override { return fused(); }
  void iterate_parts(Slab& slab, int first, int count, std::span<const Range> parts,
                     const std::function<void(std::size_t)>& launched) const override;
  int next_reduction(int done) const override;
  void reduce(Slab& slab, int done, Range interior) const override;
  bool reduced(int done, std::span<const double> sums) override;
  bool stage_ended() const override { return stage_ended_; }
  std::vector<int> expected_reductions(int iterations) const override;
  double expected_iterations() const override;
  std::vector<std::string> image_arrays() const override;
  std::string note() const override;

 protected:
  /// components: of the sums that reduce() evaluates for each slice.
  Pdu(const MethodParameters& parameters, bool weighted, int components);
  /// Launches the dual step. Standard steps divide the dimensionless dual step; spdu overrides it.
  virtual void dual(Slab& slab, const Steps& steps, Range slices) const;
  virtual void primal(Slab& slab, const Steps& steps, Range slices) const;
  void launch_rows(Slab& slab, KernelSpec kernel, Range slices, const std::vector<SlabArgument>& arguments) const;
  /// The dual's step along every axis, as the kernels take it.
  virtual std::array<float, 3> dual_steps(const Steps& steps) const;
  /// Record made from (gap, total variation, squared fidelity).
  virtual IterationRecord record(int done, std::span<const double> sums) const;

  bool extrapolates() const { return parameters_.schedule == Schedule::chambolle_pock; }
  bool fused() const { return parameters_.fused.stages > 0; }
  void declare_fused(Requirements& need) const;
  std::string dual_option() const;
  /// Steps of iteration number `iteration` of the run.
  const Steps& steps_of(int iteration) const;
  std::string primal_options() const { return extrapolates() ? "-D EXTRAPOLATE" : ""; }
  /// Pushes the arguments of the extrapolated image that follow "u", with its factor.
  void push_extrapolation(std::vector<SlabArgument>& arguments, const Steps& steps) const;

  MethodParameters parameters_;   // lambda: that of the stage
  bool weighted_;                 // with the weights "w"
  double norm2_;                  // of the gradient
  std::array<float, 3> inverse_;  // 1 / spacing
  std::vector<Steps> steps_;
  SliceSums sums_;

 private:
  int stages_in_all() const { return parameters_.path.empty() ? 1 : static_cast<int>(parameters_.path.size()); }
  bool end_stage(int done);

  GapRule rule_;
  int stage_ = 0, stage_begin_ = 0;  // number of the stage, iterations done before it
  bool stage_ended_ = false;
};

}  // namespace halocline
