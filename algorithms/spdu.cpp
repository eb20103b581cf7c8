#include "algorithms/spdu.hpp"

#include <cmath>

namespace halocline {

Spdu::Spdu(const MethodParameters& parameters)
    : Pdu(parameters, parameters.largest_weight > 0 ? 1 / parameters.largest_weight : 1, 4) {}

Requirements Spdu::requirements() const {
  Requirements need = Pdu::requirements();
  need.algorithm = "spdu";
  need.arrays.insert(need.arrays.begin() + 1, volume_array("w", Lifetime::input));
  if (fused()) return need;
  need.kernels[0] = is_dimensionless(parameters_.schedule) ? "spdu_dual" : "pdu_dual";
  need.kernels[1] = "spdu_primal";
  need.kernels[2] = "spdu_gap";
  return need;
}

std::array<float, 3> Spdu::dual_steps(const Steps& steps) const {
  std::array<float, 3> step;
  for (int axis = 0; axis < 3; ++axis)
    step[axis] = static_cast<float>(steps.dual * 2 / (norm2_ > 0 ? norm2_ : 1) / parameters_.spacing[axis]);
  return step;
}

void Spdu::dual(Slab& slab, const Steps& steps, Range slices) const {
  // The other schedules have one step for all voxels. Where w is 0 all around q is then not 0, but nothing reads it: it
  // reaches u through w div q alone, and the gap leaves it out.
  if (!is_dimensionless(parameters_.schedule)) return Pdu::dual(slab, steps, slices);
  const auto step = dual_steps(steps);
  slab.launch({"spdu.cl", "spdu_dual", ""}, slices,
              {in("u"), in("w"), inout("qx"), inout("qy"), inout("qz"), slab.nx(), slab.ny(), slab.nz(), slab.offset(),
               static_cast<std::int32_t>(slices.begin), static_cast<std::int32_t>(slices.end), step[0], step[1],
               step[2], static_cast<float>(parameters_.lambda)});
}

void Spdu::primal(Slab& slab, const Steps& steps, Range slices) const {
  std::vector<SlabArgument> arguments{in("f"), in("w"), in("qx"), in("qy"), in("qz"), inout("u")};
  push_extrapolation(arguments, steps);
  arguments.insert(arguments.end(), {slab.nx(), slab.ny(), slab.offset(), static_cast<std::int32_t>(slices.begin),
                                     static_cast<std::int32_t>(slices.end), inverse_[0], inverse_[1], inverse_[2],
                                     static_cast<float>(steps.primal)});
  slab.launch({"spdu.cl", "spdu_primal", primal_options()}, slices, arguments);
}

void Spdu::reduce(Slab& slab, int, Range slices) const {
  if (fused() || !sums_.on_cpu(slab)) return reduce_stored(slab, slices);
  sums_.launch(
      slab, "spdu.cl", "spdu_gap", slices,
      {in("u"), in("f"), in("w"), in("qx"), in("qy"), in("qz"), out("partials"), slab.nx(), slab.ny(), slab.nz(),
       slab.offset(), static_cast<std::int32_t>(slices.begin), static_cast<std::int32_t>(slices.end), inverse_[0],
       inverse_[1], inverse_[2], static_cast<float>(parameters_.lambda)});
}

IterationRecord Spdu::record(int done, std::span<const double> sums) const {
  IterationRecord result = Pdu::record(done, sums);
  result.weighted_fidelity = std::sqrt(SliceSums::value(sums, 3));
  return result;
}

}  // namespace halocline
