#include "algorithms/solvers/methods.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "algorithms/solvers/method_list.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/tv_term.hpp"
#include "host/system/error.hpp"

namespace halocline {

std::span<const SolverMethod> solver_methods() {
#define HALOCLINE_LIST_METHOD(name) name,
  static const std::array methods{HALOCLINE_SOLVER_METHODS(HALOCLINE_LIST_METHOD)};
#undef HALOCLINE_LIST_METHOD
  return methods;
}

namespace {

// "one of: ..." of the methods with a property.
std::string takers(bool SolverMethod::*property) {
  std::vector<std::string> names;
  for (const SolverMethod& method : solver_methods())
    if (method.*property) names.emplace_back(method.name);
  return fmt::format("one of: {}", fmt::join(names, ", "));
}

void require_taken(const SolverMethod& method, bool SolverMethod::*property, bool given, const char* parameter) {
  if (given && !(method.*property))
    throw InputError(fmt::format("{} goes with another method than {}; leave it out, or take {}", parameter,
                                 method.name, takers(property)));
}

void check_penalty(const ReconstructionParameters& p) {
  if (!(p.lambda > 0 && p.lambda < HUGE_VAL))
    throw InputError({.what = "`lambda`",
                      .found = fmt::format("{:g}", p.lambda),
                      .expected = "a positive number",
                      .remedy = "it says how much total variation counts against the data"});
  if (p.polish_steps < 1)
    throw InputError({.what = "the number of polishing steps",
                      .found = fmt::format("{}", p.polish_steps),
                      .expected = "a whole number of at least 1"});
  if (!(p.gap >= 0 && p.gap < 1))
    throw InputError({.what = "`gap`", .found = fmt::format("{:g}", p.gap), .expected = "a number from 0 to below 1"});
  check_regulariser(p.regulariser, "spdu");
  const double minimum = TvTerm::minimum_of(p.regulariser);
  if (!(minimum < p.regulariser.maximum))
    throw InputError({.what = "`maximum`",
                      .found = fmt::format("{:g}", p.regulariser.maximum),
                      .expected = fmt::format("more than the minimum, {:g}", minimum),
                      .remedy = "give a lower `minimum`, too, which is 0 by default"});
}

void check_least_squares(const ReconstructionParameters& p) {
  if (!(p.relaxation > 0 && p.relaxation < 2))
    throw InputError({.what = "`relaxation`",
                      .found = fmt::format("{:g}", p.relaxation),
                      .expected = "a number between 0 and 2",
                      .remedy = "1 is safe"});
  if (!(p.tolerance >= 0 && p.tolerance < 1))
    throw InputError(
        {.what = "`tolerance`", .found = fmt::format("{:g}", p.tolerance), .expected = "a number from 0 to below 1"});
  if (!(p.regulariser.minimum < p.regulariser.maximum))
    throw InputError({.what = "`minimum`",
                      .found = fmt::format("{:g}", p.regulariser.minimum),
                      .expected = fmt::format("a number below `maximum`, which is {:g}", p.regulariser.maximum)});
}

}  // namespace

const SolverMethod& solver_method(const std::string& name) {
  for (const SolverMethod& method : solver_methods())
    if (name == method.name) return method;
  throw InputError({.what = "`method`",
                    .found = '"' + name + '"',
                    .expected = fmt::format("one of: {}", fmt::join(reconstruction_methods(), ", "))});
}

std::string lost_of_start(const std::string& method) {
  const std::string gathered = solver_method(method).gathered;
  if (gathered.empty()) return {};
  return fmt::format(
      "{} begins with the image of `init` and without the {} that made it, so that its first passes gain less; "
      "`checkpoint` and `resume` go on with them",
      method, gathered);
}

std::vector<std::string> reconstruction_methods() {
  std::vector<std::string> names;
  for (const SolverMethod& method : solver_methods()) names.emplace_back(method.name);
  return names;
}

void check_parameters(const ReconstructionParameters& p, const GivenInputs& given) {
  const SolverMethod& method = solver_method(p.method);
  const ReconstructionParameters defaults;
  const Regulariser &penalty = p.regulariser, plain;
  using Method = SolverMethod;
  if (p.passes < 0)
    throw InputError({.what = "`iterations`", .found = std::to_string(p.passes), .expected = "at least 1"});
  if (p.passes > method.most_passes)
    throw InputError(
        {.what = "`iterations`",
         .found = std::to_string(p.passes),
         .expected = fmt::format("at most {} of {}, which keeps a volume for each", method.most_passes, p.method)});
  require_taken(method, &Method::weights, given.weights, "weights (`weights`)");
  require_taken(method, &Method::bounds, penalty.boxed(), "a bound of the voxels (`minimum`, `maximum`)");
  require_taken(method, &Method::relaxation, p.relaxation != defaults.relaxation, "`relaxation`");
  require_taken(method, &Method::tolerance, p.tolerance != defaults.tolerance, "`tolerance`");
  require_taken(method, &Method::precondition, p.precondition != defaults.precondition, "`precondition`");
  require_taken(method, &Method::subsets, p.subsets != 0, "`subsets`");
  require_taken(method, &Method::penalty, p.lambda != 0 || penalty.variation != plain.variation || penalty.guided,
                "a penalty (`lambda`, `variation`, `reference`)");
  require_taken(method, &Method::penalty, p.gap_map, "`gap_map`");
  require_taken(method, &Method::penalty, p.gap != defaults.gap, "`gap`");
  require_taken(method, &Method::seed, p.seed != defaults.seed, "`seed`");
  require_taken(method, &Method::fast, p.hardware_interpolation, "hardware interpolation (`hardware_interpolation`)");
  if (method.penalty)
    check_penalty(p);
  else
    check_least_squares(p);
}

Program solver_program(const RayOperator& A, const ViewSubsets& subsets, const ReconstructionParameters& parameters,
                       const GivenInputs& given, bool keeps_sums) {
  check_parameters(parameters, given);
  const SolverMethod& method = solver_method(parameters.method);
  if (method.adjoint && !A.matched())
    throw InputError({.what = fmt::format("the back-projection for {}", method.name),
                      .found = "another one than the projector's adjoint",
                      .expected = "the exact adjoint, without which it does not converge",
                      .remedy = "leave RayOperatorForms as they are, or take ba-gmres"});
  ReconstructionParameters with_passes = parameters;
  with_passes.passes = pass_count(parameters);
  return method.program({A, subsets, with_passes, given, keeps_sums});
}

const std::vector<std::string>& preconditioner_names() {
  static const std::vector<std::string> names{"none", "ramp"};
  return names;
}

const std::vector<std::string>& operator_form_names() {
  static const std::vector<std::string> names{"auto", "matrix", "matrix-half", "symmetric", "rays"};
  return names;
}

OperatorForm operator_form_from_name(const std::string& name) {
  const auto& names = operator_form_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<OperatorForm>(found - names.begin());
  throw InputError(
      {.what = "`operator`", .found = name, .expected = fmt::format("one of: {}", fmt::join(names, ", "))});
}

Preconditioner preconditioner_from_name(const std::string& name) {
  if (name == "none") return Preconditioner::none;
  if (name == "ramp") return Preconditioner::ramp;
  throw InputError({.what = "`precondition`",
                    .found = '"' + name + '"',
                    .expected = fmt::format("one of: {}", fmt::join(preconditioner_names(), ", "))});
}

int pass_count(const ReconstructionParameters& p) {
  constexpr int preconditioned = 5;  // from FDK as good as 20 without
  if (p.passes != 0) return p.passes;
  return p.precondition == Preconditioner::ramp ? preconditioned : solver_method(p.method).passes;
}

bool begins_with_fdk(const ReconstructionParameters& p) {
  const SolverMethod& method = solver_method(p.method);
  return method.penalty || method.fdk || p.precondition == Preconditioner::ramp;
}

int subset_count(const ReconstructionParameters& p, std::size_t views) {
  if (p.subsets != 0) return p.subsets;
  return solver_method(p.method).default_subsets(static_cast<int>(views));
}

}  // namespace halocline
