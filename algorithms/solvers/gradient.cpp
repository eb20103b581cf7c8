#include "algorithms/solvers/gradient.hpp"

#include <cmath>

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

using enum Domain;

double beta(const Scalars& known) {
  return known.at("beta");
}

// The next t and beta. `turn`: <d (y - x+), x+ - x>.
void move_on(double turn, bool restart, Scalars& known) {
  if (restart && turn > 0) {
    known["t"] = 1;
    known["beta"] = 0;
    return;
  }
  const double t = known["t"], next = (1 + std::sqrt(1 + 4 * t * t)) / 2;
  known["beta"] = (t - 1) / next;
  known["t"] = next;
}

// 1 / (A^T W A 1), in units of x over those of the gradient.
std::vector<Step> inverse_majoriser(const RayOperator& A, const VectorSteps& vectors, bool weights) {
  std::vector<Step> steps{vectors.set(slices, 1, "u"), A.project("u", "r")};
  append(steps, weigh(vectors, weights, "r"));
  append(steps, {A.backproject("r", "1/d"), vectors.reciprocal(slices, "1/d")});
  return steps;
}

// From u = A^T W (b - A y) to the next x and y.
std::vector<Step> accelerated(const VectorSteps& vectors, const GradientParameters& parameters) {
  std::vector<Step> steps{vectors.multiply(slices, "1/d", "u"), vectors.combine(slices, 1, "y", 1, "u")};
  if (limits(parameters.bounds)) steps.push_back(vectors.clamp(parameters.bounds, "u"));
  const auto told = [restart = parameters.restart](double turn, Scalars& known) { move_on(turn, restart, known); };
  append(steps, {vectors.sum(slices, {"vectors.cl", "vectors_turn", ""}, {"y", "u", "x", "1/d"}, told),
                 vectors.scale(slices, 1, "u", "y"), vectors.extrapolate(slices, beta, "y", "x")});
  return steps;
}

}  // namespace

Program gradient(const RayOperator& A, const GradientParameters& parameters) {
  check_matched(A, parameters.momentum ? "nesterov" : "gradient");
  check_iterations(parameters.iterations);
  check_bounds(parameters.bounds);
  check_tolerance(parameters.tolerance);
  const bool weights = parameters.weights, momentum = parameters.momentum;
  Program program = A.program("gradient");
  declare(program, {volume_array("x", Lifetime::output), volume_array("u", Lifetime::state),  // A^T W (b - A y)
                    volume_array("1/d", Lifetime::state), projection_array("b", Lifetime::input),
                    projection_array("r", Lifetime::iteration)});
  if (weights) declare(program, {projection_array("w", Lifetime::input)});
  if (momentum)  // q is b - A x, of which b - A y follows
    declare(program, {volume_array("y", Lifetime::state), projection_array("q", Lifetime::state)});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"residual", 0}};
  declare_gradient(program);
  if (momentum) program.scalars.insert({{"t", 1}, {"beta", 0}});
  const VectorSteps vectors(program);
  program.first = inverse_majoriser(A, vectors, weights);
  if (parameters.from_start) append(program.first, gradient_at_zero(A, vectors, weights ? "w" : "", "u", "r"));
  append(program.first, begin_image(program, vectors, parameters.from_start, parameters.bounds));
  program.first.push_back(project_start(A, vectors, parameters.from_start, "r"));
  append(program.first, residual(vectors, weights));
  if (momentum) append(program.first, {vectors.scale(slices, 1, "x", "y"), vectors.scale(views, 1, "r", "q")});
  append(program.first, weigh(vectors, weights, "r"));
  append(program.first, first_gradient(A, vectors, parameters.from_start, "r", "u"));
  program.each = momentum ? accelerated(vectors, parameters)
                          : std::vector<Step>{vectors.update(1, "u", "1/d", "x", parameters.bounds)};
  program.each.push_back(A.project("x", "r"));
  append(program.each, residual(vectors, weights));
  if (momentum) program.each.push_back(vectors.extrapolate(views, beta, "r", "q"));
  append(program.each, weigh(vectors, weights, "r"));
  append(program.each, gradient_step(A, vectors, "r", "u"));
  if (momentum) {
    program.last = {vectors.scale(views, 1, "q", "r")};
    append(program.last, weigh(vectors, weights, "r"));
    append(program.last, gradient_step(A, vectors, "r", "u"));
  }
  end_at_gradient(program, parameters.tolerance);
  return program;
}

}  // namespace halocline
