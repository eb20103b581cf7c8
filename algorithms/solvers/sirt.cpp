#include "algorithms/solvers/sirt.hpp"

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {

Program sirt(const RayOperator& A, const SirtParameters& parameters) {
  using enum Domain;
  check_iterations(parameters.iterations);
  check_relaxation(parameters.relaxation);
  check_bounds(parameters.bounds);
  check_tolerance(parameters.tolerance);
  Program program = A.program("sirt");
  declare(program, {volume_array("x", Lifetime::output), volume_array("u", Lifetime::state),  // A^T R^-1 (b - A x)
                    volume_array("1/C", Lifetime::state), projection_array("b", Lifetime::input),
                    projection_array("r", Lifetime::iteration), projection_array("1/R", Lifetime::state)});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"residual", 0}};
  declare_gradient(program);
  const VectorSteps vectors(program);
  program.first = {vectors.set(slices, 1, "u"), A.project("u", "1/R"),     vectors.reciprocal(views, "1/R"),
                   vectors.set(views, 1, "r"),  A.backproject("r", "1/C"), vectors.reciprocal(slices, "1/C")};
  if (parameters.from_start) append(program.first, gradient_at_zero(A, vectors, "1/R", "u", "r"));
  append(program.first, begin_image(program, vectors, parameters.from_start, parameters.bounds));
  append(program.first, {project_start(A, vectors, parameters.from_start, "r"), vectors.residual("b", "1/R", "r")});
  append(program.first, first_gradient(A, vectors, parameters.from_start, "r", "u"));
  program.each = {vectors.update(parameters.relaxation, "u", "1/C", "x", parameters.bounds), A.project("x", "r"),
                  vectors.distance(views, "b", "r", keep_root("residual")), vectors.residual("b", "1/R", "r")};
  append(program.each, gradient_step(A, vectors, "r", "u"));
  end_at_gradient(program, parameters.tolerance);
  return program;
}

}  // namespace halocline
