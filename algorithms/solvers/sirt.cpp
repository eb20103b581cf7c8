#include "algorithms/solvers/sirt.hpp"

#include <cmath>

#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {

Program sirt(const RayOperator& A, const SirtParameters& parameters) {
  constexpr auto volume = ArrayKind::volume, projections = ArrayKind::projections;
  constexpr auto slices = Domain::slices, views = Domain::views;
  Program program = A.program("sirt");
  program.needs.arrays.insert(program.needs.arrays.end(),
                              {{.name = "x", .kind = volume, .lifetime = Lifetime::output},
                               {.name = "u", .kind = volume, .lifetime = Lifetime::iteration},
                               {.name = "1/C", .kind = volume, .lifetime = Lifetime::state},
                               {.name = "b", .kind = projections, .lifetime = Lifetime::input},
                               {.name = "r", .kind = projections, .lifetime = Lifetime::state},  // R^-1 (b - A x)
                               {.name = "1/R", .kind = projections, .lifetime = Lifetime::state}});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"residual", 0}};
  const VectorSteps vectors(program);
  Bounds bounds;
  if (parameters.non_negative) bounds.minimum = 0;
  program.first = {vectors.set(slices, 1, "u"), A.project("u", "1/R"),      vectors.reciprocal(views, "1/R"),
                   vectors.set(views, 1, "r"),  A.backproject("r", "1/C"),  vectors.reciprocal(slices, "1/C"),
                   vectors.set(slices, 0, "x"), vectors.set(views, 0, "r"), vectors.residual("b", "1/R", "r")};
  program.each = {
      A.backproject("r", "u"), vectors.update(parameters.relaxation, "u", "1/C", "x", bounds), A.project("x", "r"),
      vectors.distance(views, "b", "r", [](double sum, Scalars& scalars) { scalars["residual"] = std::sqrt(sum); }),
      vectors.residual("b", "1/R", "r")};
  return program;
}

}  // namespace halocline
