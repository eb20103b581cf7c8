#include "algorithms/solvers/ml_tr.hpp"

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

using enum Domain;
constexpr const char* transmission = "poisson.cl";

Step transmit(const VectorSteps& vectors, const char* from, const char* to) {
  return vectors.elementwise(views, {transmission, "poisson_transmit", ""}, {in(from), out(to)}, {});
}

// From q = A x: r = w exp(-A x) - w exp(-b), q = R w exp(-A x), and the scalars.
std::vector<Step> compare(const VectorSteps& vectors, bool weights) {
  std::vector<Step> steps{vectors.distance(views, "b", "q", keep_root("residual")), transmit(vectors, "q", "r"),
                          vectors.scale(views, 1, "r", "q"), transmit(vectors, "b", "r")};
  append(steps, weigh(vectors, weights, "q"));
  append(steps, weigh(vectors, weights, "r"));
  append(steps, {vectors.sum(views, {transmission, "poisson_divergence", ""}, {"r", "q"}, keep("likelihood")),
                 vectors.combine(views, 1, "q", -1, "r"), vectors.multiply(views, "R", "q")});
  return steps;
}

}  // namespace

Program ml_tr(const RayOperator& A, const MlTrParameters& parameters) {
  check_iterations(parameters.iterations);
  check_relaxation(parameters.relaxation);
  check_bounds(parameters.bounds);
  const bool weights = parameters.weights;
  Program program = A.program("ml-tr");
  declare(program, {volume_array("x", Lifetime::output), volume_array("u", Lifetime::iteration),
                    volume_array("1/d", Lifetime::iteration), projection_array("b", Lifetime::input),
                    projection_array("R", Lifetime::state), projection_array("q", Lifetime::state),
                    projection_array("r", Lifetime::state)});
  if (weights) declare(program, {projection_array("w", Lifetime::input)});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"residual", 0}, {"likelihood", 0}};
  const VectorSteps vectors(program);
  program.first = {vectors.set(slices, 1, "u"), A.project("u", "R")};
  append(program.first, begin_image(program, vectors, parameters.from_start, parameters.bounds));
  program.first.push_back(project_start(A, vectors, parameters.from_start, "q"));
  append(program.first, compare(vectors, weights));
  program.each = {A.backproject("r", "u"), A.backproject("q", "1/d"), vectors.reciprocal(slices, "1/d"),
                  vectors.update(parameters.relaxation, "u", "1/d", "x", parameters.bounds), A.project("x", "q")};
  append(program.each, compare(vectors, weights));
  return program;
}

}  // namespace halocline
