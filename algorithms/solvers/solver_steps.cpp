#include "algorithms/solvers/solver_steps.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/system/error.hpp"

namespace halocline {
namespace {

using enum Domain;
constexpr int power_steps = 20;

}  // namespace

ArrayNeed projection_array(const std::string& name, Lifetime lifetime) {
  return {.name = name, .kind = ArrayKind::projections, .lifetime = lifetime};
}

void declare(Program& program, const std::vector<ArrayNeed>& arrays) {
  program.needs.arrays.insert(program.needs.arrays.end(), arrays.begin(), arrays.end());
}

void append(std::vector<Step>& steps, const std::vector<Step>& more) {
  steps.insert(steps.end(), more.begin(), more.end());
}

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

Told keep(const std::string& scalar) {
  return [scalar](double sum, Scalars& known) { known[scalar] = sum; };
}

Told keep_root(const std::string& scalar) {
  return [scalar](double sum, Scalars& known) { known[scalar] = std::sqrt(sum); };
}

bool limits(const Bounds& bounds) {
  return std::isfinite(bounds.minimum) || std::isfinite(bounds.maximum);
}

std::vector<Step> begin_image(Program& program, const VectorSteps& vectors, bool from_start, const Bounds& bounds) {
  if (!from_start) return {vectors.set(slices, 0, "x")};
  program.given = {"x"};
  if (!limits(bounds)) return {};
  return {vectors.clamp(bounds, "x")};
}

Step project_start(const RayOperator& A, const VectorSteps& vectors, bool from_start, const std::string& r) {
  return from_start ? A.project("x", r) : vectors.set(views, 0, r);
}

std::vector<Step> weigh(const VectorSteps& vectors, bool weights, const std::string& y) {
  if (!weights) return {};
  return {vectors.multiply(views, "w", y)};
}

std::vector<Step> residual(const VectorSteps& vectors, bool weights) {
  return {vectors.combine(views, 1, "b", -1, "r"), weights ? vectors.dot(views, "r", "r", "w", keep_root("residual"))
                                                           : vectors.dot(views, "r", "r", keep_root("residual"))};
}

void declare_gradient(Program& program) {
  program.scalars["gradient"] = program.scalars["gradient at 0"] = 0;
}

std::vector<Step> gradient_at_zero(const RayOperator& A, const VectorSteps& vectors, const std::string& w,
                                   const std::string& u, const std::string& r) {
  std::vector<Step> steps{vectors.scale(views, 1, "b", r)};
  if (!w.empty()) steps.push_back(vectors.multiply(views, w, r));
  append(steps, {A.backproject(r, u), vectors.dot(slices, u, u, keep_root("gradient at 0"))});
  return steps;
}

std::vector<Step> gradient_step(const RayOperator& A, const VectorSteps& vectors, const std::string& r,
                                const std::string& u) {
  return {A.backproject(r, u), vectors.dot(slices, u, u, keep_root("gradient"))};
}

std::vector<Step> first_gradient(const RayOperator& A, const VectorSteps& vectors, bool from_start,
                                 const std::string& r, const std::string& u) {
  const auto told = [from_start](double square, Scalars& known) {
    known["gradient"] = std::sqrt(square);
    if (!from_start) known["gradient at 0"] = known["gradient"];
  };
  return {A.backproject(r, u), vectors.dot(slices, u, u, told)};
}

void end_at_gradient(Program& program, double tolerance) {
  program.ends = [tolerance](int, const Scalars& known) {
    return known.at("gradient") <= tolerance * known.at("gradient at 0");
  };
}

std::vector<Step> operator_norm(const RayOperator& A, const VectorSteps& vectors, bool weights, const std::string& u,
                                const std::string& r) {
  const auto inverse = [](const Scalars& known) { return ratio(1, known.at("norm")); };
  std::vector<Step> steps{vectors.set(slices, 1, u), vectors.dot(slices, u, u, keep_root("norm"))};
  for (int n = 0; n < power_steps; ++n) {
    append(steps, {vectors.scale(slices, inverse, u), A.project(u, r)});
    append(steps, weigh(vectors, weights, r));
    append(steps, {A.backproject(r, u), vectors.dot(slices, u, u, keep_root("norm"))});
  }
  return steps;
}

void check_matched(const RayOperator& A, const char* method) {
  if (!A.matched())
    throw InputError({.what = fmt::format("the back-projection for {}", method),
                      .found = "another one than the projector's adjoint",
                      .expected = "the exact adjoint, without which it does not converge",
                      .remedy = "leave RayOperatorForms as they are, or take ba_gmres()"});
}

void check_iterations(int iterations, const char* name) {
  if (iterations < 1)
    throw InputError({.what = name, .found = fmt::format("{}", iterations), .expected = "at least 1"});
}

void check_relaxation(double relaxation) {
  if (!(relaxation > 0 && relaxation < 2))
    throw InputError({.what = "`relaxation`",
                      .found = fmt::format("{:g}", relaxation),
                      .expected = "a number between 0 and 2",
                      .remedy = "1 is safe"});
}

void check_part(const char* name, double value) {
  if (!(value > 0 && value <= 1))
    throw InputError({.what = name, .found = fmt::format("{:g}", value), .expected = "a number above 0, at most 1"});
}

void check_tolerance(double tolerance) {
  if (!(tolerance >= 0 && tolerance < 1))
    throw InputError(
        {.what = "`tolerance`", .found = fmt::format("{:g}", tolerance), .expected = "a number from 0 to below 1"});
}

void check_bounds(const Bounds& bounds) {
  if (!(bounds.minimum < bounds.maximum))
    throw InputError({.what = "`minimum`",
                      .found = fmt::format("{:g}", bounds.minimum),
                      .expected = fmt::format("a number below `maximum`, which is {:g}", bounds.maximum)});
}

}  // namespace halocline
