#include "algorithms/denoisers/pdu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/system/error.hpp"

namespace halocline {
namespace {

// Later stages of a path begin at this step of the schedule: u and q are worth keeping, so the first large primal steps
// are left out. By experiment; from 0 to 5 it hardly matters.
constexpr int warm_step = 3;

// The modulus of convexity of sum_i (u_i - f_i)^2 / (2 w_i). Where all weights are 0, the least that float32 holds.
double weighted_convexity(double largest_weight) {
  return 1 / static_cast<double>(std::max(static_cast<float>(largest_weight), std::numeric_limits<float>::min()));
}

}  // namespace

Pdu::Pdu(const MethodParameters& parameters) : Pdu(parameters, false, 3) {}

Pdu::Pdu(const MethodParameters& parameters, bool weighted, int components)
    : parameters_(parameters),
      weighted_(weighted),
      norm2_(gradient_norm2(parameters.size, parameters.spacing)),
      steps_(make_steps(parameters.schedule, parameters.iterations + (parameters.path.empty() ? 0 : warm_step), norm2_,
                        weighted ? weighted_convexity(parameters.largest_weight) : 1)),
      sums_(parameters.size, components, parameters.variants, parameters.compared ? 1 : 0),
      rule_(parameters.gap) {
  if (!is_dimensionless(parameters.schedule)) parameters_.fused = {};
  Pdu::begin();
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
  need.kernels = {"pdu_dual", "pdu_primal", "pdu_state_gap"};
  if (fused()) declare_fused(need);
  need.takes_parts = fused();
  sums_.declare(need);
  need.iterations = parameters_.iterations * stages_in_all();
  need.halo_low = need.halo_high = 1;
  need.reduction_halo = 1;
  need.reductions_steer = parameters_.gap > 0 || !parameters_.path.empty();
  need.cost = fused_cost(weighted_, parameters_.fused);
  if (extrapolates()) need.cost.name += " extrapolated";
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
  need.kernels = {"pdu_state_start", "pdu_fused_iterate", "pdu_state_gap"};
}

std::string Pdu::dual_option() const {
  return fmt::format("-D DUAL_BITS={}", parameters_.fused.dual_bits);
}

void Pdu::begin() {
  DenoiseMethod::begin();
  rule_ = GapRule(parameters_.gap);
  stage_ = stage_begin_ = 0;
  stage_ended_ = false;
  if (!parameters_.path.empty()) parameters_.lambda = parameters_.path.front();
}

std::vector<std::string> Pdu::image_arrays() const {
  if (extrapolates()) return {"u", "ubar"};
  return {"u"};
}

void Pdu::start(Slab& slab) const {
  const Range all = slab.extended();
  if (fused())
    return slab.launch({"pdu_state.cl", "pdu_state_start", dual_option()}, all,
                       {in("f"), out("u"), out("qx"), out("qy"), out("qz"), slab.extent(all)});
  const auto copy = [&](const char* to) {
    slab.launch({"copy.cl", "copy_slices", ""}, all, {in("f"), out(to), slab.extent(all)});
  };
  copy("u");
  if (extrapolates()) copy("ubar");
  for (const char* q : {"qx", "qy", "qz"}) slab.fill(q, 0);
}

const Steps& Pdu::steps_of(int iteration) const {
  return steps_[static_cast<std::size_t>(iteration - stage_begin_ + (stage_ > 0 ? warm_step : 0))];
}

void Pdu::iterate_together(Slab& slab, int first, int count, Range core) const {
  if (!fused()) return iterate(slab, first, core);
  iterate_parts(slab, first, count, std::span(&core, 1), [](std::size_t) {});
}

void Pdu::iterate_parts(Slab& slab, int first, int count, std::span<const Range> parts,
                        const std::function<void(std::size_t)>& launched) const {
  std::vector<std::array<float, 4>> steps;
  for (int n = first; n < first + count; ++n) {
    const Steps& each = steps_of(n);
    const auto dual = dual_steps(each);
    steps.push_back({dual[0], dual[1], dual[2], static_cast<float>(each.primal)});
  }
  for (std::size_t n = 0; n < parts.size(); ++n) {
    launch_fused(slab, parameters_.fused.dual_bits, weighted_, parts[n], inverse_,
                 static_cast<float>(parameters_.lambda), steps);
    launched(n);
  }
  advance_fused(slab);
}

void Pdu::iterate(Slab& slab, int iteration, Range core) const {
  if (fused()) return iterate_together(slab, iteration, 1, core);
  const Steps& steps = steps_of(iteration);
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
  if (is_dimensionless(parameters_.schedule)) scale /= norm2_ > 0 ? norm2_ : 1;
  if (parameters_.schedule == Schedule::seed) scale *= parameters_.lambda;
  std::array<float, 3> step;
  for (int axis = 0; axis < 3; ++axis) step[axis] = static_cast<float>(scale / parameters_.spacing[axis]);
  return step;
}

// A work-item a voxel; on CPUs a row.
void Pdu::launch_rows(Slab& slab, KernelSpec kernel, Range slices, const std::vector<SlabArgument>& arguments) const {
  if (!sums_.on_cpu(slab)) return slab.launch(kernel, slices, arguments);
  kernel.options.append(" ").append(sums_.lane_option(slab));
  slab.launch(kernel, {1, parameters_.size[1], static_cast<std::size_t>(slices.count())}, {1, 1, 1}, arguments);
}

void Pdu::dual(Slab& slab, const Steps& steps, Range slices) const {
  const auto step = Pdu::dual_steps(steps);
  launch_rows(slab, {"pdu.cl", "pdu_dual", ""}, slices,
              {in(extrapolates() ? "ubar" : "u"), inout("qx"), inout("qy"), inout("qz"), slab.extent(slices),
               per_axis(step), static_cast<float>(parameters_.lambda)});
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
  arguments.insert(arguments.end(), {slab.extent(slices), per_axis(inverse_), static_cast<float>(theta)});
  launch_rows(slab, {"pdu.cl", "pdu_primal", primal_options()}, slices, arguments);
}

int Pdu::next_reduction(int done) const {
  const int next = rule_.next(done - stage_begin_);
  return parameters_.path.empty() ? next : stage_begin_ + std::min(next, parameters_.iterations);
}

std::vector<int> Pdu::expected_reductions(int iterations) const {
  std::vector<int> numbers;
  for (int begin = 0; begin < iterations; begin += parameters_.iterations) {
    for (const int n : rule_.estimate(parameters_.iterations)) numbers.push_back(begin + n);
    if (begin + parameters_.iterations < iterations) numbers.push_back(begin + parameters_.iterations);
  }
  return numbers;
}

double Pdu::expected_iterations() const {
  const double expected = rule_.expected();
  return expected > 0 ? stage_begin_ + expected * (stages_in_all() - stage_) : 0;
}

void Pdu::reduce(Slab& slab, int, Range slices) const {
  std::vector<SlabArgument> arguments{in("u"), in("f")};
  if (weighted_) arguments.emplace_back(in("w"));
  arguments.insert(arguments.end(), {in("qx"), in("qy"), in("qz"), out("partials"), slab.extent(slices),
                                     per_axis(inverse_), static_cast<float>(parameters_.lambda)});
  const std::string options = dual_option() + (weighted_ ? " -D WEIGHTED" : "");
  if (sums_.on_cpu(slab)) return sums_.launch(slab, "pdu_state.cl", "pdu_state_gap", slices, arguments, options);
  const auto march = sums_.march(slab.device(), slices, 1);
  slab.launch(
      {"pdu_state.cl", "pdu_state_gap", fmt::format("{} {} {}", sums_.fp64_option(slab), options, march.options)},
      march.global, march.group, arguments);
  sums_.add_up(slab, slices, march.sets, weighted_ ? 4 : 3);
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
  if (stage_ended_) history_.clear();  // the first of a new stage
  stage_ended_ = false;
  IterationRecord now = record(done - stage_begin_, sums);
  now.primal = now.weighted_fidelity * now.weighted_fidelity / 2 + parameters_.lambda * now.total_variation;
  if (!std::isfinite(now.primal) || !std::isfinite(now.gap))
    throw InputError(
        fmt::format("the energy is not finite after {} iterations: float32 does not hold what the grey values, `alpha` "
                    "and bounds come to; scale them",
                    now.iteration));
  now.gap = std::max(least_certain_gap * now.primal, now.gap);
  now.dual = now.primal - now.gap;
  now.relative_gap = now.primal > 0 ? now.gap / now.primal : 0;
  history_.push_back(now);
  rule_.found(now.iteration, now.relative_gap);
  StageRecord stage;
  stage.lambda = parameters_.lambda;
  stage.converged = parameters_.gap > 0 && now.relative_gap <= parameters_.gap;
  stage.stalled = !stage.converged && rule_.stalled();
  stage.last = now;
  stages_.resize(static_cast<std::size_t>(stage_));
  stages_.push_back(stage);
  converged_ = std::all_of(stages_.begin(), stages_.end(), [](const StageRecord& each) { return each.converged; });
  stalled_ = stage.stalled;
  const bool over = stage.converged || stage.stalled;
  if (parameters_.path.empty()) return over;
  return (over || now.iteration == parameters_.iterations) && end_stage(done);
}

// Ends a stage; true if it was the last one.
bool Pdu::end_stage(int done) {
  if (stage_ + 1 == stages_in_all()) return true;
  ++stage_;
  stage_begin_ = done;
  stage_ended_ = true;
  rule_ = GapRule(parameters_.gap);
  parameters_.lambda = parameters_.path[static_cast<std::size_t>(stage_)];
  return false;
}

std::string Pdu::note() const {
  if (history_.empty()) return {};
  return fmt::format(
      "{}relative gap {:.2e}",
      parameters_.path.empty() ? "" : fmt::format("{} of {} strengths, ", stages_.size(), stages_in_all()),
      history_.back().relative_gap);
}

}  // namespace halocline
