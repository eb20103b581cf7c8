#include "algorithms/solvers/tv_term.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/denoisers/pdu_variant.hpp"

namespace halocline {
namespace {

#include "cl/descent.clh"

constexpr const char* tv_file = "tv_term.cl";
constexpr std::array duals{"qx", "qy", "qz"};
// Duals of the certificate: the best for it would set the solver back.
constexpr std::array polished{"polished qx", "polished qy", "polished qz"};

// The dual step in units of 1 / ||D||^2, and primal steps to the minimum for the q of the moment.
constexpr Steps whole_steps{1, 1, 0};

// The primal step of polish() in units of (maximum - minimum) h / lambda. From 0.03 to 3 it hardly matters (measured).
constexpr double polish_step = 0.3;

MethodParameters method_parameters(const Grid& volume, const TvParameters& parameters) {
  MethodParameters result;
  result.size = volume.size;
  result.spacing = volume.spacing;
  result.lambda = parameters.lambda;
  result.regulariser = parameters.regulariser;
  return result;
}

}  // namespace

class TvTerm::Iteration : public PduVariant {
 public:
  explicit Iteration(const MethodParameters& parameters)
      : PduVariant(parameters, true), sums_of_certificate_(parameters.size, 4) {}

  // One dual and one primal step from the minimum for the q of the moment.
  void step(Slab& slab) const {
    const Range core = slab.interior();
    dual(slab, whole_steps, core.grown(1, 0, slab.nz()));
    primal(slab, whole_steps, core);
  }

  // `u` here is where the extrapolated x goes, from which q is made.
  void step_from(Slab& slab, const std::string& z, const std::string& pending, const std::string& x, double carry,
                 double more) const {
    const Range core = slab.interior(), with_next = core.grown(0, 1, slab.nz());
    Arguments arguments{inout(z), in(pending)};
    push_duals(arguments);
    arguments.insert(arguments.end(), {inout(x), out("u"), in("w")});
    push_descent(arguments, slab, with_next,
                 {1, number(carry), number(more), 0, number(parameters_.regulariser.maximum)});
    slab.launch({tv_file, "tv_term_prox", unweighted_options()}, with_next, arguments);
    dual(slab, whole_steps, core);
  }

  void descend(Slab& slab, Range slices, const std::string& z, const std::string& u, const std::string& ubar,
               double tau, double maximum) const {
    Arguments arguments{in(z)};
    push_duals(arguments);
    arguments.insert(arguments.end(), {inout(u), out(ubar)});
    push_descent(arguments, slab, slices, {number(tau), 0, 0, 0, number(maximum)});
    slab.launch({tv_file, "tv_term_descend", unweighted_options()}, slices, arguments);
  }

  void ascend(Slab& slab, Range slices, const std::string& ubar, double step) const {
    Arguments arguments{in(ubar)};
    push_reference(arguments);
    for (const char* q : duals) arguments.emplace_back(inout(q));
    push_position(arguments, slab, slices);
    if (parameters_.regulariser.variation == Variation::huber)
      arguments.emplace_back(number(step * parameters_.regulariser.huber_delta.value() / parameters_.lambda));
    arguments.insert(arguments.end(), {number(step), number(parameters_.lambda)});
    slab.launch({"pdu_variant.cl", "pdu_variant_dual", unweighted_options()}, slices, arguments);
  }

  void polish(Slab& slab, const std::string& z, const std::string& u, const std::string& ubar, double maximum) const {
    if (maximum <= parameters_.regulariser.minimum) return;  // one image alone is within the bounds
    const Range core = slab.interior();
    const double tau = polish_step * (maximum - parameters_.regulariser.minimum) *
                       coarsest_spacing(parameters_.size, parameters_.spacing) / parameters_.lambda;
    descend(slab, core.grown(0, 1, slab.nz()), z, u, ubar, tau, maximum);
    ascend(slab, core, ubar, norm2_ > 0 ? 1 / (tau * norm2_) : 0);
  }

  // Slices above its own that descend() and ascend() read: those of the projection P read one more of the reference.
  int slices_above() const { return parameters_.regulariser.guided ? 2 : 1; }

  void certificate(Slab& slab, const std::string& x, const std::string& z) const {
    Arguments arguments = states(x, z);
    arguments.emplace_back(out("partials"));
    push_rest(arguments, slab);
    sums_of_certificate_.launch(slab, tv_file, "tv_term_certificate", slab.interior(), arguments, unweighted_options());
  }

  void gap_map(Slab& slab, const std::string& x, const std::string& z, const std::string& map, double maximum) const {
    Arguments arguments = states(x, z);
    arguments.emplace_back(out(map));
    push_rest(arguments, slab);
    arguments.emplace_back(static_cast<float>(maximum));
    slab.launch({tv_file, "tv_term_gap_map", unweighted_options()}, slab.interior(), arguments);
  }

 private:
  static float number(double value) { return static_cast<float>(value); }
  Arguments states(const std::string& x, const std::string& z) const {
    Arguments arguments{in(x), in(z)};
    push_duals(arguments);
    return arguments;
  }
  void push_duals(Arguments& arguments) const {
    push_reference(arguments);
    for (const char* q : duals) arguments.emplace_back(in(q));
  }
  void push_descent(Arguments& arguments, const Slab& slab, Range slices, Descent descent) const {
    descent.lowest = number(parameters_.regulariser.minimum);
    push_position(arguments, slab, slices);
    arguments.emplace_back(argument_struct(descent));
  }
  void push_rest(Arguments& arguments, Slab& slab) const {
    push_position(arguments, slab, slab.interior());
    push_huber_delta(arguments);
    arguments.emplace_back(static_cast<float>(parameters_.regulariser.minimum));
    arguments.emplace_back(static_cast<float>(parameters_.lambda));
  }

  SliceSums sums_of_certificate_;
};

namespace {

TvParameters with_minimum(TvParameters parameters) {
  parameters.regulariser.minimum = TvTerm::minimum_of(parameters.regulariser);
  return parameters;
}

}  // namespace

TvTerm::TvTerm(expressions::Recording& on, const TvParameters& parameters)
    : parameters_(with_minimum(parameters)),
      iteration_(std::make_shared<Iteration>(method_parameters(on.volumes().grid(), parameters_))),
      on_(on) {
  for (std::size_t n = 0; n < q_.size(); ++n) q_[n] = on.volume(duals[n], Lifetime::state, true);
  for (std::size_t n = 0; n < q_.size(); ++n) polished_[n] = on.volume(polished[n], Lifetime::iteration, true);
  auto& needs = on.program().needs;
  if (parameters_.regulariser.guided) on.volume("reference", Lifetime::input);
  for (const char* kernel : {"pdu_variant_dual", "tv_term_prox", "tv_term_certificate"})
    needs.kernels.emplace_back(kernel);
}

double TvTerm::minimum_of(const Regulariser& regulariser) {
  return std::isfinite(regulariser.minimum) ? regulariser.minimum : 0;
}

void TvTerm::start() {
  for (Array& q : q_) q = 0;
}

void TvTerm::copy_dual() {
  for (std::size_t n = 0; n < q_.size(); ++n) polished_[n] = q_[n];
}

void TvTerm::keep_polished() const {
  for (const char* q : polished)
    for (ArrayNeed& need : on_.program().needs.arrays)
      if (need.name == q) need.lifetime = Lifetime::state;
}

Step TvTerm::step_of(const char* name, std::vector<ArrayAccess> arrays, const std::array<Array, 3>& q,
                     Access access) const {
  Step step{.name = name, .arrays = std::move(arrays), .halo_low = 1, .halo_high = 1};
  for (std::size_t n = 0; n < q.size(); ++n) {
    step.arrays.push_back({name_of(q[n]), access});
    step.names.emplace(duals[n], name_of(q[n]));
  }
  if (parameters_.regulariser.guided) step.arrays.push_back(in("reference"));
  return step;
}

void TvTerm::prox(const Array& f, const Array& tau, const Array& x) const {
  Step step = step_of("tv_prox", {in(name_of(f)), in(name_of(tau)), inout(name_of(x))}, q_, Access::inout);
  step.names.insert({{"f", name_of(f)}, {"w", name_of(tau)}, {"u", name_of(x)}});
  step.work = [iteration = iteration_](Slab& slab, const WorkRange&, const Scalars&) { iteration->step(slab); };
  on_.step(std::move(step));
}

void TvTerm::prox_from(const Array& z, const Array& pending, const Array& tau, const Array& x, const Array& ubar,
                       Value carry, Value more) const {
  Step step = step_of(
      "tv_prox", {inout(name_of(z)), in(name_of(pending)), in(name_of(tau)), inout(name_of(x)), out(name_of(ubar))}, q_,
      Access::inout);
  step.names.insert({{"w", name_of(tau)}, {"u", name_of(ubar)}});
  step.halo_high = iteration_->slices_above();
  step.work = [iteration = iteration_, z = name_of(z), pending = name_of(pending), x = name_of(x), carry, more](
                  Slab& slab, const WorkRange&, const Scalars& scalars) {
    iteration->step_from(slab, z, pending, x, carry(scalars), more(scalars));
  };
  on_.step(std::move(step));
}

void TvTerm::improve_dual(const char* name, const std::array<Array, 3>& q, const Array& z, const Array& u,
                          const Array& ubar, Value maximum) const {
  Step step = step_of(name, {in(name_of(z)), inout(name_of(u)), out(name_of(ubar))}, q, Access::inout);
  step.halo_high = iteration_->slices_above();
  step.work = [iteration = iteration_, z = name_of(z), u = name_of(u), ubar = name_of(ubar), maximum](
                  Slab& slab, const WorkRange&, const Scalars& scalars) {
    iteration->polish(slab, z, u, ubar, maximum(scalars));
  };
  on_.step(std::move(step));
}

void TvTerm::polish(const Array& z, const Array& u, const Array& ubar, Value maximum) const {
  improve_dual("tv_polish", polished_, z, u, ubar, std::move(maximum));
}

void TvTerm::improve(const Array& z, const Array& u, const Array& ubar, Value maximum) const {
  improve_dual("tv_improve", q_, z, u, ubar, std::move(maximum));
}

void TvTerm::certificate(const Array& x, const Array& z,
                         std::function<void(std::span<const double>, Scalars&)> receives) const {
  Step step = step_of("tv_certificate", {in(name_of(x)), in(name_of(z))}, polished_, Access::in);
  step.work = [iteration = iteration_, x = name_of(x), z = name_of(z)](Slab& slab, const WorkRange&, const Scalars&) {
    iteration->certificate(slab, x, z);
  };
  step.reduced = std::move(receives);
  step.sums = 4;
  on_.step(std::move(step));
}

void TvTerm::gap_map(const Array& x, const Array& z, const Array& map, Value maximum) const {
  Step step = step_of("tv_gap_map", {in(name_of(x)), in(name_of(z)), out(name_of(map))}, polished_, Access::in);
  step.work = [iteration = iteration_, x = name_of(x), z = name_of(z), map = name_of(map), maximum](
                  Slab& slab, const WorkRange&, const Scalars& scalars) {
    iteration->gap_map(slab, x, z, map, maximum(scalars));
  };
  on_.step(std::move(step));
}

}  // namespace halocline
