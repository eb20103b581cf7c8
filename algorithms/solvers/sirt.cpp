#include "algorithms/solvers/sirt.hpp"

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {

Program sirt(const RayOperator& A, const SirtParameters& parameters) {
  constexpr auto slices = Domain::slices, views = Domain::views;
  check_iterations(parameters.iterations);
  check_relaxation(parameters.relaxation);
  check_bounds(parameters.bounds);
  Program program = A.program("sirt");
  declare(program, {volume_array("x", Lifetime::output), volume_array("u", Lifetime::iteration),
                    volume_array("1/C", Lifetime::state), projection_array("b", Lifetime::input),
                    projection_array("r", Lifetime::state),  // R^-1 (b - A x)
                    projection_array("1/R", Lifetime::state)});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"residual", 0}};
  const VectorSteps vectors(program);
  program.first = {vectors.set(slices, 1, "u"), A.project("u", "1/R"),     vectors.reciprocal(views, "1/R"),
                   vectors.set(views, 1, "r"),  A.backproject("r", "1/C"), vectors.reciprocal(slices, "1/C")};
  append(program.first, begin_image(program, vectors, parameters.from_start, parameters.bounds));
  append(program.first, {project_start(A, vectors, parameters.from_start, "r"), vectors.residual("b", "1/R", "r")});
  program.each = {A.backproject("r", "u"), vectors.update(parameters.relaxation, "u", "1/C", "x", parameters.bounds),
                  A.project("x", "r"), vectors.distance(views, "b", "r", keep_root("residual")),
                  vectors.residual("b", "1/R", "r")};
  return program;
}

}  // namespace halocline
