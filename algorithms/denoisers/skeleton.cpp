#include "algorithms/denoisers/skeleton.hpp"

namespace halocline {

Skeleton::Skeleton(const MethodParameters& parameters)
    : parameters_(parameters), sums_(parameters.size, 1, parameters.variants) {
  double inverse_squares = 0;  // over the axes that have neighbours at all
  for (int axis = 0; axis < 3; ++axis)
    if (parameters.size[axis] > 1) inverse_squares += 1 / (parameters.spacing[axis] * parameters.spacing[axis]);
  const double tau = inverse_squares > 0 ? 0.25 / inverse_squares : 0;
  for (int axis = 0; axis < 3; ++axis)
    factors_[axis] = static_cast<float>(tau / (parameters.spacing[axis] * parameters.spacing[axis]));
}

Requirements Skeleton::requirements() const {
  Requirements need;
  need.algorithm = "skeleton";
  need.size = parameters_.size;
  // Only declared arrays can be had, under these names. `state` and `output` are kept from pass to pass, and halos of
  // them are exchanged; `scratch` may be lost between two calls.
  need.arrays = {volume_array("f", Lifetime::input), volume_array("u", Lifetime::output),
                 volume_array("v", Lifetime::scratch)};
  sums_.declare(need);  // "partials", "sums"
  need.kernels.insert(need.kernels.begin(), {"skeleton_step", "copy_slices", "skeleton_sums"});
  need.iterations = parameters_.iterations;
  need.halo_low = need.halo_high = 1;  // v_i needs the slices below and above
  need.reduction_halo = 0;             // the sum of u needs no neighbours
  need.reductions_steer = false;       // the results of reduced() change nothing
  return need;
}

void Skeleton::start(Slab& slab) const {
  // in/out say what the launch reads and writes: the order of commands follows from that.
  slab.launch({"copy.cl", "copy_slices", ""}, slab.extended(), {in("f"), out("u"), slab.extent(slab.extended())});
}

void Skeleton::iterate(Slab& slab, int, Range core) const {
  // Neighbours are read, so the step cannot write in place. The copy touches `core` alone: beyond it v is not right.
  slab.launch({"skeleton.cl", "skeleton_step", ""}, core, {in("u"), out("v"), slab.extent(core), per_axis(factors_)});
  slab.launch({"copy.cl", "copy_slices", ""}, core, {in("v"), out("u"), slab.extent(core)});
}

void Skeleton::reduce(Slab& slab, int, Range interior) const {
  sums_.launch(slab, "skeleton.cl", "skeleton_sums", interior, {in("u"), out("partials"), slab.extent(interior)});
}

bool Skeleton::reduced(int, std::span<const double> sums) {
  total_ = SliceSums::value(sums, 0);
  return false;
}

}  // namespace halocline
