// PDU of time frames together.
#pragma once

#include "algorithms/denoisers/pdu.hpp"

namespace halocline {

/// Pdu's problem in four dimensions: the total variation is that of (x, y, z, t), isotropic in the four, with
/// differences between frames divided by the time weight (mm). Volumes hold the frames as TimeAxis says; slabs are
/// ranges of frames. Input "f", result "u", certificate and schedules as Pdu.
class Pdu4d : public Pdu {
 public:
  /// Uses what Pdu uses, and time (its weight, or 1). std::logic_error if size[1] is no multiple of time.depth.
  explicit Pdu4d(const MethodParameters& parameters);

  Requirements requirements() const override;
  void start(Slab& slab) const override;
  void reduce(Slab& slab, int done, Range interior) const override;

 protected:
  void dual(Slab& slab, const Steps& steps, Range slices) const override;
  void primal(Slab& slab, const Steps& steps, Range slices) const override;

 private:
  void launch(Slab& slab, const KernelSpec& spec, Range frames, const std::vector<SlabArgument>& arguments) const;

  std::int32_t rows_;   // of a slice
  double time_weight_;  // mm
};

}  // namespace halocline
