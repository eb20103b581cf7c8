#include "algorithms/denoisers/spdu.hpp"

#include <cmath>

namespace halocline {

Spdu::Spdu(const MethodParameters& parameters) : Pdu(parameters, true, 4) {}

Requirements Spdu::requirements() const {
  Requirements need = Pdu::requirements();
  need.algorithm = "spdu";
  need.arrays.insert(need.arrays.begin() + 1, volume_array("w", Lifetime::input));
  if (fused()) return need;
  need.kernels[0] = is_dimensionless(parameters_.schedule) ? "spdu_dual" : "pdu_dual";
  need.kernels[1] = "spdu_primal";
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
  std::vector<SlabArgument> arguments{in("u"), in("w"), inout("qx"), inout("qy"), inout("qz")};
  arguments.insert(arguments.end(), {slab.extent(slices), per_axis(step), static_cast<float>(parameters_.lambda)});
  launch_rows(slab, {"spdu.cl", "spdu_dual", ""}, slices, arguments);
}

void Spdu::primal(Slab& slab, const Steps& steps, Range slices) const {
  std::vector<SlabArgument> arguments{in("f"), in("w"), in("qx"), in("qy"), in("qz"), inout("u")};
  push_extrapolation(arguments, steps);
  arguments.insert(arguments.end(), {slab.extent(slices), per_axis(inverse_), static_cast<float>(steps.primal)});
  launch_rows(slab, {"spdu.cl", "spdu_primal", primal_options()}, slices, arguments);
}

IterationRecord Spdu::record(int done, std::span<const double> sums) const {
  IterationRecord result = Pdu::record(done, sums);
  result.weighted_fidelity = std::sqrt(SliceSums::value(sums, 3));
  return result;
}

}  // namespace halocline
