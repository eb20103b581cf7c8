// S-PDU: PDU with a noise variance for each voxel.
#pragma once

#include "algorithms/denoisers/pdu.hpp"

namespace halocline {

/// min_u 1/2 sum_i (u_i - f_i)^2 / w_i + lambda TV(u) (Sawatzky 2014 for weighted least squares). Inputs "f" and "w"
/// (the variance over its mean; 0 where no view saw the voxel: u = f there), result "u". See Pdu for the rest; the
/// certificate is ||u - u*||^2 <= 2 gap in the norm weighted with 1 / w.
class Spdu : public Pdu {
 public:
  /// Uses what Pdu uses, and largest_weight.
  explicit Spdu(const MethodParameters& parameters);
  Requirements requirements() const override;

 protected:
  void dual(Slab& slab, const Steps& steps, Range slices) const override;
  std::array<float, 3> dual_steps(const Steps& steps) const override;
  void primal(Slab& slab, const Steps& steps, Range slices) const override;
  IterationRecord record(int done, std::span<const double> sums) const override;
};

}  // namespace halocline
