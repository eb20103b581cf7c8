#include "algorithms/solvers/methods.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/solvers/asd_pocs.hpp"
#include "algorithms/solvers/ba_gmres.hpp"
#include "algorithms/solvers/cgls.hpp"
#include "algorithms/solvers/fista.hpp"
#include "algorithms/solvers/gradient.hpp"
#include "algorithms/solvers/iterative_fdk.hpp"
#include "algorithms/solvers/landweber.hpp"
#include "algorithms/solvers/lsqr.hpp"
#include "algorithms/solvers/ml_tr.hpp"
#include "algorithms/solvers/os_sart.hpp"
#include "algorithms/solvers/osem.hpp"
#include "algorithms/solvers/pdhg.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/sirt.hpp"
#include "algorithms/solvers/spdhg.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

using Parameters = ReconstructionParameters;
using Given = GivenInputs;

Bounds bounds_of(const Parameters& p) {
  return {p.regulariser.minimum, p.regulariser.maximum};
}

TvParameters penalty_of(const Parameters& p) {
  TvParameters result{p.lambda, p.regulariser};
  if (!std::isfinite(result.regulariser.minimum)) result.regulariser.minimum = 0;
  return result;
}

CertificateParameters certificate_of(const Parameters& p, int every) {
  CertificateParameters result;
  result.gap = p.gap;
  result.polish_steps = p.polish_steps;
  result.gap_map = p.gap_map;
  result.every = every;
  return result;
}

Program make_spdhg(const RayOperator& A, const ViewSubsets& subsets, const Parameters& p, const Given& given) {
  return spdhg(A, subsets, penalty_of(p),
               {p.passes, p.seed, given.weights, given.near_minimum, given.start, certificate_of(p, 5)});
}
Program make_fista(const RayOperator& A, const ViewSubsets& subsets, const Parameters& p, const Given& given) {
  return fista(A, subsets, penalty_of(p),
               {p.passes, 8, given.weights, given.near_minimum, given.start, certificate_of(p, 10)});
}
Program make_os_fista(const RayOperator& A, const ViewSubsets& subsets, const Parameters& p, const Given& given) {
  return fista(A, subsets, penalty_of(p),
               {p.passes, 4, given.weights, given.near_minimum, given.start, certificate_of(p, 5)});
}
Program make_pdhg(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return pdhg(A, penalty_of(p), {p.passes, given.weights, given.near_minimum, given.start, certificate_of(p, 10)});
}
Program make_asd_pocs(const RayOperator& A, const ViewSubsets& subsets, const Parameters& p, const Given& given) {
  AsdPocsParameters parameters;
  parameters.passes = p.passes;
  parameters.relaxation = p.relaxation;
  parameters.bounds = bounds_of(p);
  parameters.from_start = given.start;
  return asd_pocs(A, subsets, parameters);
}
Program make_ba_gmres(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return ba_gmres(A, {p.passes, p.tolerance, given.start});
}
Program make_sirt(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return sirt(A, {p.passes, p.relaxation, bounds_of(p), given.start, p.tolerance});
}
Program make_os_sart(const RayOperator& A, const ViewSubsets& subsets, const Parameters& p, const Given& given) {
  OsSartParameters parameters;
  parameters.passes = p.passes;
  parameters.relaxation = p.relaxation;
  parameters.bounds = bounds_of(p);
  parameters.from_start = given.start;
  return os_sart(A, subsets, parameters);
}
Program make_cgls(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return cgls(A, {p.passes, p.tolerance, given.weights, given.start, p.precondition == Preconditioner::ramp});
}
Program make_lsqr(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return lsqr(A, {p.passes, p.tolerance, given.weights, given.start});
}
Program make_landweber(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return landweber(A, {p.passes, p.relaxation, bounds_of(p), given.weights, given.start, p.tolerance});
}
Program make_gradient(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return gradient(A, {p.passes, false, false, bounds_of(p), given.weights, given.start, p.tolerance});
}
Program make_nesterov(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return gradient(A, {p.passes, true, true, bounds_of(p), given.weights, given.start, p.tolerance});
}
Program make_fdk(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return iterative_fdk(A, {p.passes, p.relaxation, bounds_of(p), given.start, p.tolerance});
}
Program make_mlem(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return mlem(A, {p.passes, given.start});
}
Program make_osem(const RayOperator& A, const ViewSubsets& subsets, const Parameters& p, const Given& given) {
  return osem(A, subsets, {p.passes, given.start, {}, false});
}
Program make_ml_tr(const RayOperator& A, const ViewSubsets&, const Parameters& p, const Given& given) {
  return ml_tr(A, {p.passes, p.relaxation, bounds_of(p), false, given.start});
}

constexpr bool yes = true, no = false;

// name, about, passes, and what it takes: weights, start, bounds, relaxation, tolerance, subsets, penalty, fast
// projections, voxel-driven back-projection, preconditioner, FDK; what it gathers beside the image
constexpr SolverMethod methods[] = {
    {"spdhg", "weighted least squares with total variation and bounds, to the minimum with a certificate", 100,  //
     yes, yes, yes, no, no, yes, yes, yes, no, no, no, "duals", make_spdhg},
    {"fista", "the same objective by accelerated gradient steps", 100,  //
     yes, yes, yes, no, no, no, yes, yes, no, no, no, "momentum", make_fista},
    {"os-fista", "the same by ordered subsets: fast at first, ends near the minimum", 20,  //
     yes, yes, yes, no, no, yes, yes, yes, no, no, no, "momentum", make_os_fista},
    {"pdhg", "the same objective by plain primal-dual iterations, to compare with", 300,  //
     yes, yes, yes, no, no, no, yes, yes, no, no, no, "duals", make_pdhg},
    {"cgls", "conjugate gradients for least squares; noise comes back with more passes", 12,  //
     yes, yes, no, no, yes, no, no, no, no, yes, no, "search directions", make_cgls},
    {"lsqr", "the same by bidiagonalisation, as a check", 12,  //
     yes, yes, no, no, yes, no, no, no, no, no, no, "search directions", make_lsqr},
    {"ba-gmres", "least squares with voxel-driven back-projection; keeps a volume for each pass", 10,  //
     no, yes, no, no, yes, no, no, yes, yes, no, no, "search directions", make_ba_gmres},
    {"fdk", "iterative FDK: FDK of the residual is added again and again", 5,  //
     no, yes, yes, yes, yes, no, no, no, no, no, yes, "", make_fdk},
    {"sirt", "simultaneous iterative reconstruction, robust and slow", 100,  //
     no, yes, yes, yes, yes, no, no, no, no, no, no, "", make_sirt},
    {"sart", "the same view by view: fast at first, ends in a limit cycle", 5,  //
     no, yes, yes, yes, no, no, no, no, no, no, no, "", make_os_sart},
    {"os-sart", "the same by ordered subsets", 10,  //
     no, yes, yes, yes, no, yes, no, no, no, no, no, "", make_os_sart},
    {"asd-pocs", "SART with steps that lower the total variation; its result depends on all its parameters", 50,  //
     no, yes, yes, yes, no, yes, no, no, no, no, no, "", make_asd_pocs},
    {"landweber", "gradient descent with one step length", 200,  //
     yes, yes, yes, yes, yes, no, no, no, no, no, no, "", make_landweber},
    {"gradient", "gradient descent with a step length for each voxel", 100,  //
     yes, yes, yes, no, yes, no, no, no, no, no, no, "", make_gradient},
    {"nesterov", "the same with momentum and restarts", 50,  //
     yes, yes, yes, no, yes, no, no, no, no, no, no, "momentum", make_nesterov},
    {"mlem", "maximum likelihood of emissions", 50, no, yes, no, no, no, no, no, no, no, no, no, "", make_mlem},
    {"osem", "the same by ordered subsets", 10, no, yes, no, no, no, yes, no, no, no, no, no, "", make_osem},
    {"ml-tr", "maximum likelihood of transmissions", 50,  //
     no, yes, yes, yes, no, no, no, no, no, no, no, "", make_ml_tr},
};

// "one of: ..." of the methods with a property.
std::string takers(bool SolverMethod::*property) {
  std::vector<std::string> names;
  for (const SolverMethod& method : methods)
    if (method.*property) names.emplace_back(method.name);
  return fmt::format("one of: {}", fmt::join(names, ", "));
}

void require_taken(const SolverMethod& method, bool SolverMethod::*property, bool given, const char* parameter) {
  if (given && !(method.*property))
    throw InputError(fmt::format("{} goes with another method than {}; leave it out, or take {}", parameter,
                                 method.name, takers(property)));
}

void check_penalty(const Parameters& p) {
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
  const Regulariser bounds = penalty_of(p).regulariser;
  if (!(bounds.minimum < bounds.maximum))
    throw InputError({.what = "`maximum`",
                      .found = fmt::format("{:g}", bounds.maximum),
                      .expected = fmt::format("more than the minimum, {:g}", bounds.minimum),
                      .remedy = "give a lower `minimum`, too, which is 0 by default"});
}

}  // namespace

std::span<const SolverMethod> solver_methods() {
  return methods;
}

const SolverMethod& solver_method(const std::string& name) {
  for (const SolverMethod& method : methods)
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
  for (const SolverMethod& method : methods) names.emplace_back(method.name);
  return names;
}

void check_parameters(const ReconstructionParameters& p, const GivenInputs& given) {
  const SolverMethod& method = solver_method(p.method);
  const Parameters defaults;
  const Regulariser &penalty = p.regulariser, plain;
  using Method = SolverMethod;
  if (p.passes < 0)
    throw InputError({.what = "`iterations`", .found = std::to_string(p.passes), .expected = "at least 1"});
  constexpr int most_kept = 500;
  if (p.method == "ba-gmres" && p.passes > most_kept)
    throw InputError({.what = "`iterations`",
                      .found = std::to_string(p.passes),
                      .expected = fmt::format("at most {} of ba-gmres, which keeps a volume for each", most_kept)});
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
  if (p.seed != defaults.seed && p.method != "spdhg")
    throw InputError(fmt::format("`seed` goes with another method than {}; leave it out, or take spdhg", method.name));
  require_taken(method, &Method::fast, p.hardware_interpolation, "hardware interpolation (`hardware_interpolation`)");
  if (method.penalty) check_penalty(p);
}

const std::vector<std::string>& preconditioner_names() {
  static const std::vector<std::string> names{"none", "ramp"};
  return names;
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
  const SolverMethod& method = solver_method(p.method);
  if (p.method == "sart") return static_cast<int>(views);
  if (!method.subsets) return 1;
  if (p.subsets != 0) return p.subsets;
  const auto count = static_cast<int>(views);
  if (p.method == "asd-pocs") return count;
  return p.method == "spdhg" ? std::clamp(count / 2, 1, std::clamp(count / 16, 30, 60)) : std::clamp(count / 6, 1, 10);
}

}  // namespace halocline
