#include "algorithms/pdu.hpp"

#include <fmt/format.h>

#include <cmath>

namespace halocline {
namespace {

std::int32_t narrow(std::int64_t n) {
  return static_cast<std::int32_t>(n);
}

}  // namespace

Pdu::Pdu(const MethodParameters& parameters) : Pdu(parameters, 1, 3) {}

Pdu::Pdu(const MethodParameters& parameters, double gamma, int components)
    : parameters_(parameters),
      norm2_(gradient_norm2(parameters.size, parameters.spacing)),
      steps_(make_steps(parameters.schedule, parameters.iterations, norm2_, gamma)),
      sums_(parameters.size, components, parameters.variants) {
  if (parameters.schedule != Schedule::standard) parameters_.fused = {};
  for (int axis = 0; axis < 3; ++axis) inverse_[axis] = static_cast<float>(1 / parameters.spacing[axis]);
}

Requirements Pdu::requirements() const {
  Requirements need;
  need.algorithm = "pdu";
  need.size = parameters_.size;
  need.arrays = {volume_array("f", Lifetime::input), volume_array("u", Lifetime::output),
                 volume_array("qx", Lifetime::state), volume_array("qy", Lifetime::state),
                 volume_array("qz", Lifetime::state)};
  if (extrapolates()) need.arrays.push_back(volume_array("ubar", Lifetime::state));
  need.kernels = {"pdu_dual", "pdu_primal", "pdu_gap"};
  if (fused()) declare_fused(need);
  sums_.declare(need);
  need.iterations = parameters_.iterations;
  need.halo_low = need.halo_high = 1;
  need.reduction_halo = 1;
  return need;
}

// A pass does not work in place.
void Pdu::declare_fused(Requirements& need) const {
  const auto bytes = static_cast<std::size_t>(parameters_.fused.dual_bits / 8);
  for (auto& array : need.arrays)
    if (array.name.starts_with("q")) array.element_bytes = bytes;
  for (const char* name : {"new_u", "new_qx", "new_qy", "new_qz"}) {
    need.arrays.push_back(volume_array(name, Lifetime::scratch));
    if (name != std::string("new_u")) need.arrays.back().element_bytes = bytes;
  }
  need.kernels = {"pdu_start", "pdu_fused", "pdu_stored_gap"};
}

std::string Pdu::dual_option() const {
  return fmt::format("-D DUAL_BITS={}", parameters_.fused.dual_bits);
}

void Pdu::start(Slab& slab) const {
  const Range all = slab.extended();
  if (fused())
    return slab.launch({"pdu_state.cl", "pdu_start", dual_option()}, all,
                       {in("f"), out("u"), out("qx"), out("qy"), out("qz"), slab.nx(), slab.ny(), slab.offset(),
                        narrow(all.begin), narrow(all.end)});
  const auto copy = [&](const char* to) {
    slab.launch({"copy.cl", "copy_slices", ""}, all,
                {in("f"), out(to), slab.nx(), slab.ny(), slab.offset(), narrow(all.begin), narrow(all.end)});
  };
  copy("u");
  if (extrapolates()) copy("ubar");
  for (const char* q : {"qx", "qy", "qz"}) slab.fill(q, 0);
}

void Pdu::iterate_together(Slab& slab, int first, int count, Range core) const {
  if (!fused()) return iterate(slab, first, core);
  std::vector<std::array<float, 4>> steps;
  for (int n = first; n < first + count; ++n) {
    const Steps& each = steps_[static_cast<std::size_t>(n)];
    const auto dual = dual_steps(each);
    steps.push_back({dual[0], dual[1], dual[2], static_cast<float>(each.primal)});
  }
  launch_fused(slab, parameters_.fused.dual_bits, weighted(), core, inverse_, static_cast<float>(parameters_.lambda),
               steps);
}

void Pdu::iterate(Slab& slab, int iteration, Range core) const {
  if (fused()) return iterate_together(slab, iteration, 1, core);
  const Steps& steps = steps_[static_cast<std::size_t>(iteration)];
  if (parameters_.schedule == Schedule::seed) {  // q_i takes the new u_i and u_(i+e)
    primal(slab, steps, core.grown(0, 1, slab.nz()));
    dual(slab, steps, core);
  } else {  // u_i takes the new q_i and q_(i-e)
    dual(slab, steps, core.grown(1, 0, slab.nz()));
    primal(slab, steps, core);
  }
}

std::array<float, 3> Pdu::dual_steps(const Steps& steps) const {
  double scale = steps.dual;
  if (parameters_.schedule == Schedule::standard) scale /= norm2_ > 0 ? norm2_ : 1;
  if (parameters_.schedule == Schedule::seed) scale *= parameters_.lambda;
  std::array<float, 3> step;
  for (int axis = 0; axis < 3; ++axis) step[axis] = static_cast<float>(scale / parameters_.spacing[axis]);
  return step;
}

void Pdu::dual(Slab& slab, const Steps& steps, Range slices) const {
  const auto step = Pdu::dual_steps(steps);
  slab.launch({"pdu.cl", "pdu_dual", ""}, slices,
              {in(extrapolates() ? "ubar" : "u"), inout("qx"), inout("qy"), inout("qz"), slab.nx(), slab.ny(),
               slab.nz(), slab.offset(), narrow(slices.begin), narrow(slices.end), step[0], step[1], step[2],
               static_cast<float>(parameters_.lambda)});
}

void Pdu::push_extrapolation(std::vector<SlabArgument>& arguments, const Steps& steps) const {
  if (!extrapolates()) return;
  arguments.emplace_back(out("ubar"));
  arguments.emplace_back(static_cast<float>(steps.extrapolation));
}

void Pdu::primal(Slab& slab, const Steps& steps, Range slices) const {
  // the proximal step (u + tau (f + div q)) / (1 + tau) is the same update with theta = tau / (1 + tau)
  const double theta = extrapolates() ? steps.primal / (1 + steps.primal) : steps.primal;
  std::vector<SlabArgument> arguments{in("f"), in("qx"), in("qy"), in("qz"), inout("u")};
  push_extrapolation(arguments, steps);
  arguments.insert(arguments.end(), {slab.nx(), slab.ny(), slab.offset(), narrow(slices.begin), narrow(slices.end),
                                     inverse_[0], inverse_[1], inverse_[2], static_cast<float>(theta)});
  slab.launch({"pdu.cl", "pdu_primal", primal_options()}, slices, arguments);
}

int Pdu::next_reduction(int done) const {
  const int every = done < 50 ? 5 : done < 200 ? 10 : 25;
  return done < 0 ? every : (done / every + 1) * every;
}

void Pdu::reduce_stored(Slab& slab, Range slices) const {
  std::vector<SlabArgument> arguments{in("u"), in("f")};
  if (weighted()) arguments.emplace_back(in("w"));
  arguments.insert(arguments.end(), {in("qx"), in("qy"), in("qz"), out("partials"), slab.nx(), slab.ny(), slab.nz(),
                                     slab.offset(), narrow(slices.begin), narrow(slices.end), inverse_[0], inverse_[1],
                                     inverse_[2], static_cast<float>(parameters_.lambda)});
  const std::string options = dual_option() + (weighted() ? " -D WEIGHTS" : "");
  if (sums_.on_cpu(slab)) return sums_.launch(slab, "pdu_state.cl", "pdu_stored_gap", slices, arguments, options);
  const auto march = sums_.march(slices, 1);
  slab.launch({"pdu_state.cl", "pdu_stored_gap",
               fmt::format("{} {} -D COLUMNS={}", sums_.fp64_option(slab), options, march.columns)},
              march.global, march.group, arguments);
  sums_.add_up(slab, slices, march.sets, weighted() ? 4 : 3);
}

void Pdu::reduce(Slab& slab, int, Range slices) const {
  if (fused() || !sums_.on_cpu(slab)) return reduce_stored(slab, slices);
  sums_.launch(slab, "pdu.cl", "pdu_gap", slices,
               {in("u"), in("f"), in("qx"), in("qy"), in("qz"), out("partials"), slab.nx(), slab.ny(), slab.nz(),
                slab.offset(), narrow(slices.begin), narrow(slices.end), inverse_[0], inverse_[1], inverse_[2],
                static_cast<float>(parameters_.lambda)});
}

IterationRecord Pdu::record(int done, std::span<const double> sums) const {
  IterationRecord result;
  result.iteration = done;
  result.gap = SliceSums::value(sums, 0);
  result.total_variation = SliceSums::value(sums, 1);
  result.fidelity = result.weighted_fidelity = std::sqrt(SliceSums::value(sums, 2));
  return result;
}

bool Pdu::reduced(int done, std::span<const double> sums) {
  IterationRecord now = record(done, sums);
  now.primal = now.weighted_fidelity * now.weighted_fidelity / 2 + parameters_.lambda * now.total_variation;
  now.gap = std::max(0.0, now.gap);  // |q| <= lambda holds to rounding only
  now.dual = now.primal - now.gap;
  now.relative_gap = now.primal > 0 ? now.gap / now.primal : 0;
  history_.push_back(now);
  converged_ = parameters_.gap > 0 && now.relative_gap <= parameters_.gap;
  return converged_;
}

std::string Pdu::note() const {
  return history_.empty() ? std::string() : fmt::format("relative gap {:.2e}", history_.back().relative_gap);
}

}  // namespace halocline
