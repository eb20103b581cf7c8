#include "algorithms/solvers/cgls.hpp"

#include <cmath>

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

constexpr auto slices = Domain::slices, views = Domain::views;

double step_length(const Scalars& scalars) {
  return ratio(scalars.at("gamma"), scalars.at("qq"));
}

double minus_length(const Scalars& scalars) {
  return -step_length(scalars);
}

void go_on(double square, Scalars& known) {
  known["beta"] = ratio(square, known["gamma"]);
  known["gamma"] = square;
  known["gradient"] = std::sqrt(square);
}

// The squared norm in the inner product of W.
Step square(const VectorSteps& vectors, bool weights, const std::string& y, const Told& told) {
  return weights ? vectors.dot(views, y, y, "w", told) : vectors.dot(views, y, y, told);
}

// s = A^T W r.
std::vector<Step> back(const RayOperator& A, const VectorSteps& vectors, bool weights) {
  if (!weights) return {A.backproject("r", "s")};
  return {vectors.scale(views, 1, "r", "q"), vectors.multiply(views, "w", "q"), A.backproject("q", "s")};
}

std::vector<Step> begin(Program& program, const RayOperator& A, const VectorSteps& vectors,
                        const CglsParameters& parameters) {
  std::vector<Step> steps = begin_image(program, vectors, parameters.from_start, {});
  steps.push_back(vectors.scale(views, 1, "b", "r"));
  if (parameters.from_start) append(steps, {A.project("x", "q"), vectors.combine(views, -1, "q", 1, "r")});
  const auto told = [](double sum, Scalars& known) { known["gamma"] = known["start"] = sum; };
  const auto inverse_norm = [](const Scalars& known) { return ratio(1, std::sqrt(known.at("gamma"))); };
  append(steps, back(A, vectors, parameters.weights));
  append(steps, {vectors.dot(slices, "s", "s", told), vectors.scale(slices, 1, "s", "p"),
                 vectors.scale(slices, inverse_norm, "s", "e")});
  return steps;
}

}  // namespace

Program cgls(const RayOperator& A, const CglsParameters& parameters) {
  check_iterations(parameters.iterations);
  check_tolerance(parameters.tolerance);
  const bool weights = parameters.weights;
  Program program = A.program("cgls");
  declare(program, {volume_array("x", Lifetime::output), volume_array("p", Lifetime::state),
                    volume_array("e", Lifetime::state),  // the first gradient, unit
                    volume_array("s", Lifetime::iteration), projection_array("b", Lifetime::input),
                    projection_array("r", Lifetime::state), projection_array("q", Lifetime::iteration)});
  if (weights) declare(program, {projection_array("w", Lifetime::input)});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"gamma", 0}, {"start", 0}, {"beta", 0}, {"qq", 0}, {"es", 0}, {"residual", 0}, {"gradient", 0}};
  const VectorSteps vectors(program);
  program.first = begin(program, A, vectors, parameters);
  program.each = {A.project("p", "q"), square(vectors, weights, "q", keep("qq")),
                  vectors.combine(slices, step_length, "p", 1, "x"), vectors.combine(views, minus_length, "q", 1, "r"),
                  square(vectors, weights, "r", keep_root("residual"))};
  append(program.each, back(A, vectors, weights));
  append(program.each, {vectors.dot(slices, "e", "s", keep("es")),
                        vectors.combine(
                            slices, [](const Scalars& known) { return -known.at("es"); }, "e", 1, "s"),
                        vectors.dot(slices, "s", "s", go_on),
                        vectors.combine(
                            slices, 1, "s", [](const Scalars& known) { return known.at("beta"); }, "p")});
  program.ends = [limit = parameters.tolerance](int, const Scalars& known) {
    return known.at("gamma") <= limit * limit * known.at("start");
  };
  return program;
}

}  // namespace halocline
