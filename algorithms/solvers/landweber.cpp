#include "algorithms/solvers/landweber.hpp"

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {

Program landweber(const RayOperator& A, const LandweberParameters& parameters) {
  check_matched(A, "landweber");
  check_iterations(parameters.iterations);
  check_relaxation(parameters.relaxation);
  check_bounds(parameters.bounds);
  check_tolerance(parameters.tolerance);
  const bool weights = parameters.weights;
  Program program = A.program("landweber");
  declare(program, {volume_array("x", Lifetime::output), volume_array("u", Lifetime::state),  // A^T W (b - A x)
                    projection_array("b", Lifetime::input), projection_array("r", Lifetime::iteration)});
  if (weights) declare(program, {projection_array("w", Lifetime::input)});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"norm", 0}, {"residual", 0}};
  declare_gradient(program);
  const VectorSteps vectors(program);
  const auto omega = [relaxation = parameters.relaxation](const Scalars& known) {
    return ratio(relaxation, norm_margin * known.at("norm"));
  };
  program.first = operator_norm(A, vectors, weights, "u", "r");
  if (parameters.from_start) append(program.first, gradient_at_zero(A, vectors, weights ? "w" : "", "u", "r"));
  append(program.first, begin_image(program, vectors, parameters.from_start, parameters.bounds));
  program.first.push_back(project_start(A, vectors, parameters.from_start, "r"));
  append(program.first, residual(vectors, weights));
  append(program.first, weigh(vectors, weights, "r"));
  append(program.first, first_gradient(A, vectors, parameters.from_start, "r", "u"));
  program.each = {vectors.combine(Domain::slices, omega, "u", 1, "x")};
  if (limits(parameters.bounds)) program.each.push_back(vectors.clamp(parameters.bounds, "x"));
  program.each.push_back(A.project("x", "r"));
  append(program.each, residual(vectors, weights));
  append(program.each, weigh(vectors, weights, "r"));
  append(program.each, gradient_step(A, vectors, "r", "u"));
  end_at_gradient(program, parameters.tolerance);
  return program;
}

}  // namespace halocline
