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

// The steps' kernels, of arrays with the names that step_of() gives them.
class TvTerm::Kernels : public PduVariant {
 public:
  explicit Kernels(const MethodParameters& parameters)
      : PduVariant(parameters, true), lambda_(number(parameters.lambda)), sums_(parameters.size, 4) {}

  // Slices above its own that primal() and dual() from ubar read: the projection P reads one more of the reference.
  int slices_above() const { return parameters_.regulariser.guided ? 2 : 1; }

  // One dual and one primal step from the minimum for the q of the moment.
  void prox(Slab& slab) const {
    const Range core = slab.interior();
    dual(slab, whole_steps, core.grown(1, 0, slab.nz()));
    primal(slab, whole_steps, core);
  }

  void prox_from(Slab& slab, double carry, double more) const {
    const Range core = slab.interior();
    descend(slab, "tv_term_prox", {inout("z"), in("pending")}, {inout("x"), out("u"), in("w")},
            {1, number(carry), number(more), 0, number(parameters_.regulariser.maximum)});
    dual(slab, whole_steps, core);
  }

  void ascent(Slab& slab, double maximum) const {
    const double width = maximum - parameters_.regulariser.minimum;
    if (width <= 0) return;  // one image alone is within the bounds
    const double tau =
        polish_step * width * coarsest_spacing(parameters_.size, parameters_.spacing) / parameters_.lambda;
    descend(slab, "tv_term_descend", {in("z")}, {inout("u"), out("ubar")}, {number(tau), 0, 0, 0, number(maximum)});
    ascend(slab, norm2_ > 0 ? 1 / (tau * norm2_) : 0);
  }

  void gap_terms(Slab& slab) const {
    sums_.launch(slab, tv_file, "tv_term_certificate", slab.interior(), gap_arguments(slab, "partials"),
                 unweighted_options());
  }

  void gap_map(Slab& slab, double maximum) const {
    Arguments arguments = gap_arguments(slab, "map");
    arguments.emplace_back(number(maximum));
    slab.launch({tv_file, "tv_term_gap_map", unweighted_options()}, slab.interior(), arguments);
  }

 private:
  static float number(double value) { return static_cast<float>(value); }

  void push_duals(Arguments& arguments) const {
    push_reference(arguments);
    for (const char* q : duals) arguments.emplace_back(in(q));
  }

  void descend(Slab& slab, const char* kernel, Arguments arguments, const Arguments& images, Descent descent) const {
    const Range slices = slab.interior().grown(0, 1, slab.nz());
    push_duals(arguments);
    arguments.insert(arguments.end(), images.begin(), images.end());
    push_position(arguments, slab, slices);
    descent.lowest = number(parameters_.regulariser.minimum);
    arguments.emplace_back(argument_struct(descent));
    slab.launch({tv_file, kernel, unweighted_options()}, slices, arguments);
  }

  void ascend(Slab& slab, double step) const {
    Arguments arguments{in("ubar")};
    push_reference(arguments);
    for (const char* q : duals) arguments.emplace_back(inout(q));
    push_position(arguments, slab, slab.interior());
    if (parameters_.regulariser.variation == Variation::huber)
      arguments.emplace_back(number(step * parameters_.regulariser.huber_delta.value() / parameters_.lambda));
    arguments.insert(arguments.end(), {number(step), lambda_});
    slab.launch({"pdu_variant.cl", "pdu_variant_dual", unweighted_options()}, slab.interior(), arguments);
  }

  Arguments gap_arguments(Slab& slab, const char* to) const {
    Arguments arguments{in("x"), in("z")};
    push_duals(arguments);
    arguments.emplace_back(out(to));
    push_position(arguments, slab, slab.interior());
    push_huber_delta(arguments);
    arguments.insert(arguments.end(), {number(parameters_.regulariser.minimum), lambda_});
    return arguments;
  }

  float lambda_;
  SliceSums sums_;
};

namespace {

TvParameters with_minimum(TvParameters parameters) {
  parameters.regulariser.minimum = TvTerm::minimum_of(parameters.regulariser);
  return parameters;
}

}  // namespace

TvTerm::TvTerm(expressions::Recording& on, const TvParameters& parameters)
    : parameters_(with_minimum(parameters)),
      kernels_(std::make_shared<Kernels>(method_parameters(on.volumes().grid(), parameters_))),
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

// An array of the program, and the name that the kernels know it by.
struct TvTerm::Role {
  ArrayAccess known_as;
  const Array& array;
};

Step TvTerm::step_of(const char* name, const std::vector<Role>& roles, const Duals& q, Access access,
                     std::function<void(Slab&, const Scalars&)> work) const {
  Step step{.name = name, .halo_low = 1, .halo_high = 1};
  const auto add = [&](const std::string& known_as, const Array& array, Access how) {
    step.arrays.push_back({name_of(array), how});
    step.names.emplace(known_as, name_of(array));
  };
  for (const Role& role : roles) add(role.known_as.name, role.array, role.known_as.access);
  for (std::size_t n = 0; n < q.size(); ++n) add(duals[n], q[n], access);
  if (parameters_.regulariser.guided) step.arrays.push_back(in("reference"));
  step.work = [work = std::move(work)](Slab& slab, const WorkRange&, const Scalars& known) { work(slab, known); };
  return step;
}

void TvTerm::prox(const Array& f, const Array& tau, const Array& x) const {
  on_.step(step_of("tv_prox", {{in("f"), f}, {in("w"), tau}, {inout("u"), x}}, q_, Access::inout,
                   [kernels = kernels_](Slab& slab, const Scalars&) { kernels->prox(slab); }));
}

// "u" here is where the extrapolated x goes, from which q is made.
void TvTerm::prox_from(const Array& z, const Array& pending, const Array& tau, const Array& x, const Array& ubar,
                       const Scalar& carry, const Scalar& more) const {
  Step step =
      step_of("tv_prox", {{inout("z"), z}, {in("pending"), pending}, {in("w"), tau}, {inout("x"), x}, {out("u"), ubar}},
              q_, Access::inout,
              [kernels = kernels_, carry = function_of(carry), more = function_of(more)](
                  Slab& slab, const Scalars& known) { kernels->prox_from(slab, carry(known), more(known)); });
  step.halo_high = kernels_->slices_above();
  on_.step(std::move(step));
}

void TvTerm::ascent(const char* name, const Duals& q, const Array& z, const Array& u, const Array& ubar,
                    const Scalar& maximum) const {
  Step step = step_of(name, {{in("z"), z}, {inout("u"), u}, {out("ubar"), ubar}}, q, Access::inout,
                      [kernels = kernels_, maximum = function_of(maximum)](Slab& slab, const Scalars& known) {
                        kernels->ascent(slab, maximum(known));
                      });
  step.halo_high = kernels_->slices_above();
  on_.step(std::move(step));
}

void TvTerm::polish(const Array& z, const Array& u, const Array& ubar, const Scalar& maximum) const {
  ascent("tv_polish", polished_, z, u, ubar, maximum);
}

void TvTerm::improve(const Array& z, const Array& u, const Array& ubar, const Scalar& maximum) const {
  ascent("tv_improve", q_, z, u, ubar, maximum);
}

TvTerm::GapTerms TvTerm::gap_terms(const Array& x, const Array& z) const {
  Step step = step_of("tv_certificate", {{in("x"), x}, {in("z"), z}}, polished_, Access::in,
                      [kernels = kernels_](Slab& slab, const Scalars&) { kernels->gap_terms(slab); });
  step.sums = 4;
  const auto sums = on_.sums(std::move(step));
  return {sums[0], sums[1], sums[2], sums[3]};
}

void TvTerm::gap_map(const Array& x, const Array& z, const Array& map, const Scalar& maximum) const {
  on_.step(step_of("tv_gap_map", {{in("x"), x}, {in("z"), z}, {out("map"), map}}, polished_, Access::in,
                   [kernels = kernels_, maximum = function_of(maximum)](Slab& slab, const Scalars& known) {
                     kernels->gap_map(slab, maximum(known));
                   }));
}

}  // namespace halocline
