#include "algorithms/solvers/iterative_fdk.hpp"

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

using enum Domain;

// omega alpha, alpha the step to the least ||r - alpha q||, or minus that.
Factor step_length(double omega) {
  return [omega](const Scalars& known) { return omega * ratio(known.at("rq"), known.at("qq")); };
}

}  // namespace

Program iterative_fdk(const RayOperator& A, const IterativeFdkParameters& parameters) {
  check_iterations(parameters.iterations);
  check_relaxation(parameters.relaxation);
  check_bounds(parameters.bounds);
  check_tolerance(parameters.tolerance);
  Program program = A.program("fdk");
  declare(program, {volume_array("x", Lifetime::output), volume_array("u", Lifetime::state),         // F (b - A x)
                    projection_array("b", Lifetime::input), projection_array("r", Lifetime::state),  // b - A x
                    projection_array("q", Lifetime::iteration)});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"residual", 0}, {"qq", 0}, {"rq", 0}};
  declare_gradient(program);
  const VectorSteps vectors(program);
  const std::vector<Step> rest{vectors.combine(views, 1, "b", -1, "r"),  // of r = A x
                               vectors.dot(views, "r", "r", keep_root("residual"))};
  if (parameters.from_start) program.first = gradient_at_zero(A, vectors, "", "u", "q");
  append(program.first, begin_image(program, vectors, parameters.from_start, parameters.bounds));
  program.first.push_back(project_start(A, vectors, parameters.from_start, "r"));
  append(program.first, rest);
  append(program.first, first_gradient(A, vectors, parameters.from_start, "r", "u"));
  program.each = {A.project("u", "q"), vectors.dot(views, "q", "q", keep("qq")),
                  vectors.dot(views, "r", "q", keep("rq")),
                  vectors.combine(slices, step_length(parameters.relaxation), "u", 1, "x")};
  if (limits(parameters.bounds)) {
    append(program.each, {vectors.clamp(parameters.bounds, "x"), A.project("x", "r")});
    append(program.each, rest);
  } else {
    append(program.each, {vectors.combine(views, step_length(-parameters.relaxation), "q", 1, "r"), rest.back()});
  }
  append(program.each, gradient_step(A, vectors, "r", "u"));
  end_at_gradient(program, parameters.tolerance);
  return program;
}

}  // namespace halocline
