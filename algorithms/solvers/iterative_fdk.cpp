#include "algorithms/solvers/iterative_fdk.hpp"

#include <cmath>

#include "algorithms/solvers/best_iterate.hpp"
#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

constexpr auto slices = Domain::slices, views = Domain::views;

// Of r = A x: r becomes b - A x, whose norm tells whether x is the best so far.
std::vector<Step> judged(const VectorSteps& vectors, const BestIterate& best, double more) {
  const auto told = [more](double square, Scalars& known) {
    known["residual"] = std::sqrt(square);
    BestIterate::judge(known["residual"], known.at(iteration_scalar) + more, known);
  };
  return {vectors.combine(views, 1, "b", -1, "r"), vectors.dot(views, "r", "r", told), best.keep(vectors)};
}

}  // namespace

Program iterative_fdk(const RayOperator& A, const IterativeFdkParameters& parameters) {
  check_iterations(parameters.iterations);
  check_relaxation(parameters.relaxation);
  check_bounds(parameters.bounds);
  check_tolerance(parameters.tolerance);
  Program program = A.program("fdk");
  declare(program, {volume_array("x", Lifetime::output), volume_array("u", Lifetime::state),  // F (b - A x)
                    projection_array("b", Lifetime::input), projection_array("r", Lifetime::iteration)});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"residual", 0}};
  declare_gradient(program);
  const BestIterate best(program);
  const VectorSteps vectors(program);
  program.first = {BestIterate::at_zero(vectors, "", [](double sum) { return std::sqrt(sum); })};
  if (parameters.from_start) append(program.first, gradient_at_zero(A, vectors, "", "u", "r"));
  append(program.first, begin_image(program, vectors, parameters.from_start, parameters.bounds));
  program.first.push_back(project_start(A, vectors, parameters.from_start, "r"));
  append(program.first, judged(vectors, best, 0));
  append(program.first, first_gradient(A, vectors, parameters.from_start, "r", "u"));
  program.each = {vectors.combine(slices, parameters.relaxation, "u", 1, "x")};
  if (limits(parameters.bounds)) program.each.push_back(vectors.clamp(parameters.bounds, "x"));
  program.each.push_back(A.project("x", "r"));
  append(program.each, judged(vectors, best, 1));
  append(program.each, gradient_step(A, vectors, "r", "u"));
  program.last = {best.restore(vectors)};
  for (Step step : {A.project("x", "r"), vectors.distance(views, "b", "r", keep_root("residual"))}) {
    step.due = BestIterate::diverged;
    program.last.push_back(std::move(step));
  }
  program.ends = [tolerance = parameters.tolerance](int, const Scalars& known) {
    return BestIterate::diverged(known) || known.at("gradient") <= tolerance * known.at("gradient at 0");
  };
  return program;
}

}  // namespace halocline
