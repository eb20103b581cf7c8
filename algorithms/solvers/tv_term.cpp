#include "algorithms/solvers/tv_term.hpp"

#include <algorithm>
#include <array>

#include "algorithms/denoisers/pdu_variant.hpp"

namespace halocline {
namespace {

#include "cl/descent.clh"

constexpr const char* tv_file = "tv_term.cl";
constexpr std::array duals{"qx", "qy", "qz"};
// Those of the certificate: what is best for it would throw the solver back.
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
    slab.launch({tv_file, "tv_term_prox", unweighted_options() + "-D STEP_VOLUME"}, with_next, arguments);
    dual(slab, whole_steps, core);
  }

  // With the step `tau`, times that of the voxel where `steps` names a volume.
  void descend(Slab& slab, Range slices, const std::string& z, const std::string& u, const std::string& ubar,
               double tau, const std::string& steps, double maximum) const {
    Arguments arguments{in(z)};
    push_duals(arguments);
    arguments.insert(arguments.end(), {inout(u), out(ubar)});
    if (!steps.empty()) arguments.emplace_back(in(steps));
    push_descent(arguments, slab, slices, {number(tau), 0, 0, 0, number(maximum)});
    slab.launch({tv_file, "tv_term_descend", unweighted_options() + (steps.empty() ? "" : "-D STEP_VOLUME")}, slices,
                arguments);
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
    if (maximum <= parameters_.regulariser.minimum) return;  // one image alone lies within the bounds
    const Range core = slab.interior();
    const double tau = polish_step * (maximum - parameters_.regulariser.minimum) *
                       coarsest_spacing(parameters_.size, parameters_.spacing) / parameters_.lambda;
    descend(slab, core.grown(0, 1, slab.nz()), z, u, ubar, tau, "", maximum);
    ascend(slab, core, ubar, norm2_ > 0 ? 1 / (tau * norm2_) : 0);
  }

  double norm2() const { return norm2_; }
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

TvTerm::TvTerm(const Grid& volume, const TvParameters& parameters)
    : parameters_(parameters), iteration_(std::make_shared<Iteration>(method_parameters(volume, parameters))) {}

void TvTerm::declare(Program& program) const {
  auto& needs = program.needs;
  for (const char* q : duals) needs.arrays.push_back({.name = q, .lifetime = Lifetime::state, .halo_inout = true});
  for (const char* q : polished)
    needs.arrays.push_back({.name = q, .lifetime = Lifetime::iteration, .halo_inout = true});
  if (parameters_.regulariser.guided) needs.arrays.push_back({.name = "reference", .lifetime = Lifetime::input});
  needs.halo_low = std::max(needs.halo_low, 1);
  needs.halo_high = std::max(needs.halo_high, iteration_->slices_above());
  for (const char* kernel : {"pdu_variant_dual", "tv_term_prox", "tv_term_certificate"})
    needs.kernels.emplace_back(kernel);
}

Step TvTerm::start() const {
  Step step{.name = "tv_start", .arrays = {out("qx"), out("qy"), out("qz")}};
  step.work = [](Slab& slab, const WorkRange& part, const Scalars&) {
    for (const char* q : duals) slab.fill(q, 0, part.slices);
  };
  return step;
}

std::vector<ArrayAccess> TvTerm::with(std::span<const char* const> q, std::vector<ArrayAccess> arrays,
                                      Access access) const {
  for (const char* each : q) arrays.push_back({each, access});
  if (parameters_.regulariser.guided) arrays.push_back(in("reference"));
  return arrays;
}

std::vector<ArrayAccess> TvTerm::with_duals(std::vector<ArrayAccess> arrays, Access access) const {
  return with(duals, std::move(arrays), access);
}

Step TvTerm::of_certificate(const char* name, std::vector<ArrayAccess> arrays, Access access) const {
  Step step{.name = name, .arrays = with(polished, std::move(arrays), access), .halo_low = 1, .halo_high = 1};
  step.names = polished_duals();
  return step;
}

std::map<std::string, std::string> TvTerm::polished_duals() const {
  std::map<std::string, std::string> copies;
  for (std::size_t n = 0; n < duals.size(); ++n) copies.emplace(duals[n], polished[n]);
  return copies;
}

Step TvTerm::prox(const std::string& f, const std::string& tau, const std::string& x) const {
  Step step{.name = "tv_prox",
            .arrays = with_duals({in(f), in(tau), inout(x)}, Access::inout),
            .names = {{"f", f}, {"w", tau}, {"u", x}},
            .halo_low = 1,
            .halo_high = 1};
  step.work = [iteration = iteration_](Slab& slab, const WorkRange&, const Scalars&) { iteration->step(slab); };
  return step;
}

Step TvTerm::prox_from(const std::string& z, const std::string& pending, const std::string& tau, const std::string& x,
                       const std::string& ubar, Value carry, Value more) const {
  Step step{.name = "tv_prox",
            .arrays = with_duals({inout(z), in(pending), in(tau), inout(x), out(ubar)}, Access::inout),
            .names = {{"w", tau}, {"u", ubar}},
            .halo_low = 1,
            .halo_high = iteration_->slices_above()};
  step.work = [=, iteration = iteration_](Slab& slab, const WorkRange&, const Scalars& scalars) {
    iteration->step_from(slab, z, pending, x, carry(scalars), more(scalars));
  };
  return step;
}

Step TvTerm::polish(const std::string& z, const std::string& u, const std::string& ubar, Value maximum) const {
  Step step = of_certificate("tv_polish", {in(z), inout(u), out(ubar)}, Access::inout);
  step.halo_high = iteration_->slices_above();
  step.work = polishing(z, u, ubar, maximum);
  return step;
}

Step TvTerm::improve(const std::string& z, const std::string& u, const std::string& ubar, Value maximum) const {
  Step step{.name = "tv_improve",
            .arrays = with_duals({in(z), inout(u), out(ubar)}, Access::inout),
            .halo_low = 1,
            .halo_high = iteration_->slices_above()};
  step.work = polishing(z, u, ubar, maximum);
  return step;
}

std::function<void(Slab&, const WorkRange&, const Scalars&)> TvTerm::polishing(const std::string& z,
                                                                               const std::string& u,
                                                                               const std::string& ubar,
                                                                               Value maximum) const {
  return [=, iteration = iteration_](Slab& slab, const WorkRange&, const Scalars& scalars) {
    iteration->polish(slab, z, u, ubar, maximum(scalars));
  };
}

Step TvTerm::primal_dual(const std::string& z, const std::string& steps, const std::string& u, const std::string& ubar,
                         Value dual_step) const {
  Step step{.name = "tv_primal_dual",
            .arrays = with_duals({in(z), in(steps), inout(u), out(ubar)}, Access::inout),
            .halo_low = 1,
            .halo_high = iteration_->slices_above()};
  step.work = [=, iteration = iteration_, most = maximum()](Slab& slab, const WorkRange&, const Scalars& scalars) {
    const Range core = slab.interior();
    iteration->descend(slab, core.grown(0, 1, slab.nz()), z, u, ubar, 1, steps, most);
    iteration->ascend(slab, core, ubar, dual_step(scalars));
  };
  return step;
}

double TvTerm::gradient_norm2() const {
  return iteration_->norm2();
}

Step TvTerm::certificate(const std::string& x, const std::string& z,
                         std::function<void(std::span<const double>, Scalars&)> told) const {
  Step step = of_certificate("tv_certificate", {in(x), in(z)}, Access::in);
  step.work = [=, iteration = iteration_](Slab& slab, const WorkRange&, const Scalars&) {
    iteration->certificate(slab, x, z);
  };
  step.reduced = std::move(told);
  step.sums = 4;
  return step;
}

Step TvTerm::gap_map(const std::string& x, const std::string& z, const std::string& map, Value maximum) const {
  Step step = of_certificate("tv_gap_map", {in(x), in(z), out(map)}, Access::in);
  step.work = [=, iteration = iteration_](Slab& slab, const WorkRange&, const Scalars& scalars) {
    iteration->gap_map(slab, x, z, map, maximum(scalars));
  };
  return step;
}

}  // namespace halocline
