// tvgd along other directions than the plain gradient.
#pragma once

#include "algorithms/denoisers/tvgd.hpp"

namespace halocline {

/// u <- u - step sqrt(N) v / ||v||_2 with v = s o g, one or both of
///   adaptive_delta: g is that of sum_i sqrt(sum_a c_a d_a^2 + eps^2), c_a = exp(-(d_a / delta)^2), d the differences
///   along each axis divided by the spacing: pixel edges well above delta are kept (adaptive-weighted total variation;
///   Liu, Ma, Fan & Liang 2012, Phys. Med. Biol. 57:7923). As there, the weights c are those of the present u and not
///   differentiated.
///   statistical: s_i = sqrt(w_i), the noise's standard deviation at voxel i: noisy voxels move more. Where w is 0 a
///   voxel keeps its first value.
/// Step, target and halos are those of Tvgd: `step` is the RMS change over all voxels, those with w = 0 included.
/// Inputs "f" and, statistical, "w" of mean 1; result "u". total_variation in the history is the sum over i above,
/// without s. Differences above 5.7 delta have a c below 1e-14, which is taken for 0. The registry takes it for "tvgd"
/// where either is given.
class TvgdVariant : public Tvgd {
 public:
  /// Uses what Tvgd uses, adaptive_delta and statistical.
  explicit TvgdVariant(const MethodParameters& parameters);

  Requirements requirements() const override;
  void reduce(Slab& slab, int done, Range interior) const override;

 protected:
  void step(Slab& slab, Range core) const override;

 private:
  using Arguments = std::vector<SlabArgument>;
  Shape group_shape(const Slab& slab, Range slices) const;
  std::string options() const;
  void push_input(Arguments& arguments) const;
  void push_rest(Arguments& arguments, const Slab& slab, Range slices) const;
};

}  // namespace halocline
