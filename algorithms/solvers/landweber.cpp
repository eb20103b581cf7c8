#include "algorithms/solvers/landweber.hpp"

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {

Program landweber(const RayOperator& A, const LandweberParameters& parameters) {
  check_iterations(parameters.iterations);
  check_relaxation(parameters.relaxation);
  check_bounds(parameters.bounds);
  const bool weights = parameters.weights;
  Program program = A.program("landweber");
  declare(program, {volume_array("x", Lifetime::output), volume_array("u", Lifetime::iteration),
                    projection_array("b", Lifetime::input), projection_array("r", Lifetime::state)});  // W (b - A x)
  if (weights) declare(program, {projection_array("w", Lifetime::input)});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"norm", 0}, {"residual", 0}};
  const VectorSteps vectors(program);
  const auto omega = [relaxation = parameters.relaxation](const Scalars& known) {
    return ratio(relaxation, norm_margin * known.at("norm"));
  };
  program.first = operator_norm(A, vectors, weights, "u", "r");
  append(program.first, begin_image(program, vectors, parameters.from_start, parameters.bounds));
  program.first.push_back(project_start(A, vectors, parameters.from_start, "r"));
  append(program.first, residual(vectors, weights));
  append(program.first, weigh(vectors, weights, "r"));
  program.each = {A.backproject("r", "u"), vectors.combine(Domain::slices, omega, "u", 1, "x")};
  if (limits(parameters.bounds)) program.each.push_back(vectors.clamp(parameters.bounds, "x"));
  program.each.push_back(A.project("x", "r"));
  append(program.each, residual(vectors, weights));
  append(program.each, weigh(vectors, weights, "r"));
  return program;
}

}  // namespace halocline
