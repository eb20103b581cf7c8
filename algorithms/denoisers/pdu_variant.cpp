#include "algorithms/denoisers/pdu_variant.hpp"

#include <cmath>

namespace halocline {
namespace {

constexpr const char* pdu_file = "pdu_variant.cl";

}  // namespace

PduVariant::PduVariant(const MethodParameters& parameters, bool weighted) : Pdu(parameters, weighted, 4) {
  parameters_.fused = {};  // those kernels are for plain total variation
}

Requirements PduVariant::requirements() const {
  Requirements need = Pdu::requirements();
  need.algorithm = weighted_ ? "spdu" : "pdu";
  need.arrays = {volume_array("f", Lifetime::input)};
  if (weighted_) need.arrays.push_back(volume_array("w", Lifetime::input));
  if (parameters_.regulariser.guided) need.arrays.push_back(volume_array("reference", Lifetime::input));
  need.arrays.push_back(volume_array("u", Lifetime::output));
  for (const char* q : {"qx", "qy", "qz"}) need.arrays.push_back(volume_array(q, Lifetime::state));
  if (extrapolates()) need.arrays.push_back(volume_array("ubar", Lifetime::state));
  need.cost.name = need.algorithm + (parameters_.regulariser.guided ? " guided" : " variant");
  need.kernels = {"pdu_variant_dual", "pdu_variant_primal", "pdu_variant_gap"};
  sums_.declare(need);
  return need;
}

std::string PduVariant::options() const {
  return (weighted_ ? "-D WEIGHTED " : "") + unweighted_options();
}

std::string PduVariant::unweighted_options() const {
  const auto& regulariser = parameters_.regulariser;
  std::string result;
  if (regulariser.variation == Variation::anisotropic) result += "-D ANISOTROPIC ";
  if (regulariser.variation == Variation::huber) result += "-D HUBER ";
  if (regulariser.guided) result += "-D REFERENCE ";
  if (regulariser.boxed()) result += "-D BOX ";
  return result;
}

void PduVariant::push_inputs(Arguments& arguments) const {
  if (weighted_) arguments.emplace_back(in("w"));
  push_reference(arguments);
}

void PduVariant::push_reference(Arguments& arguments) const {
  const auto& regulariser = parameters_.regulariser;
  if (!regulariser.guided) return;
  arguments.emplace_back(in("reference"));
  arguments.emplace_back(static_cast<float>(1 / regulariser.reference_eta.value()));
  arguments.emplace_back(static_cast<float>(regulariser.reference_strength.value_or(1)));
}

void PduVariant::push_position(Arguments& arguments, const Slab& slab, Range slices) const {
  arguments.insert(arguments.end(), {slab.extent(slices), per_axis(inverse_)});
}

void PduVariant::push_huber_delta(Arguments& arguments) const {
  if (parameters_.regulariser.variation == Variation::huber)
    arguments.emplace_back(static_cast<float>(parameters_.regulariser.huber_delta.value()));
}

void PduVariant::push_box(Arguments& arguments) const {
  if (!parameters_.regulariser.boxed()) return;
  arguments.emplace_back(static_cast<float>(parameters_.regulariser.minimum));
  arguments.emplace_back(static_cast<float>(parameters_.regulariser.maximum));
}

void PduVariant::dual(Slab& slab, const Steps& steps, Range slices) const {
  const bool seed = parameters_.schedule == Schedule::seed, dimensionless = !seed && !extrapolates();
  const bool voxel_steps = weighted_ && dimensionless;
  double step = steps.dual;
  if (dimensionless) step *= (voxel_steps ? 2 : 1) / (norm2_ > 0 ? norm2_ : 1);
  if (seed) step *= parameters_.lambda;
  Arguments arguments{in(extrapolates() ? "ubar" : "u")};
  push_inputs(arguments);
  for (const char* q : {"qx", "qy", "qz"}) arguments.emplace_back(inout(q));
  push_position(arguments, slab, slices);
  if (parameters_.regulariser.variation == Variation::huber)
    arguments.emplace_back(static_cast<float>(step * parameters_.regulariser.huber_delta.value() / parameters_.lambda));
  arguments.emplace_back(static_cast<float>(step));
  arguments.emplace_back(static_cast<float>(parameters_.lambda));
  slab.launch({pdu_file, "pdu_variant_dual", options() + (voxel_steps ? "-D VOXEL_STEPS" : "")}, slices, arguments);
}

void PduVariant::primal(Slab& slab, const Steps& steps, Range slices) const {
  Arguments arguments{in("f")};
  push_inputs(arguments);
  for (const char* q : {"qx", "qy", "qz"}) arguments.emplace_back(in(q));
  arguments.emplace_back(inout("u"));
  push_extrapolation(arguments, steps);
  push_position(arguments, slab, slices);
  push_box(arguments);
  arguments.emplace_back(static_cast<float>(steps.primal));
  slab.launch({pdu_file, "pdu_variant_primal", options() + primal_options()}, slices, arguments);
}

void PduVariant::reduce(Slab& slab, int, Range slices) const {
  Arguments arguments{in("u"), in("f")};
  push_inputs(arguments);
  for (const char* q : {"qx", "qy", "qz"}) arguments.emplace_back(in(q));
  arguments.emplace_back(out("partials"));
  push_position(arguments, slab, slices);
  push_huber_delta(arguments);
  push_box(arguments);
  arguments.emplace_back(static_cast<float>(parameters_.lambda));
  sums_.launch(slab, pdu_file, "pdu_variant_gap", slices, arguments, options());
}

IterationRecord PduVariant::record(int done, std::span<const double> sums) const {
  IterationRecord result = Pdu::record(done, sums);
  result.weighted_fidelity = std::sqrt(SliceSums::value(sums, 3));
  return result;
}

}  // namespace halocline
