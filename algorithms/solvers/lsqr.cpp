#include "algorithms/solvers/lsqr.hpp"

#include <cmath>

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

using enum Domain;

// The vectors u and v of the paper are kept as "u" = beta u and "v" = alpha v, so that none is scaled by itself.
Factor quotient(const char* over, const char* under, double sign = 1) {
  return [=](const Scalars& known) { return sign * ratio(known.at(over), known.at(under)); };
}
Factor inverse(const char* of) {
  return [=](const Scalars& known) { return ratio(1, known.at(of)); };
}

// The plane rotation that takes beta away, from the new alpha and beta.
void rotate(double square, Scalars& known) {
  const double alpha = known["alpha"] = std::sqrt(square), beta = known["beta"];
  const double rho = std::hypot(known["rho bar"], beta), c = ratio(known["rho bar"], rho), s = ratio(beta, rho);
  known["phi/rho"] = ratio(c * known["phi bar"], rho);
  known["theta/rho"] = ratio(s * alpha, rho);
  known["rho bar"] = -c * alpha;
  known["phi bar"] *= s;
  known["residual"] = std::abs(known["phi bar"]);
  known["gradient"] = std::abs(known["phi bar"] * alpha * c);
}

// s = A^T W u.
std::vector<Step> back(const RayOperator& A, const VectorSteps& vectors, bool weights) {
  if (!weights) return {A.backproject("u", "s")};
  return {vectors.scale(views, 1, "u", "q"), vectors.multiply(views, "w", "q"), A.backproject("q", "s")};
}

Step norm_of_u(const VectorSteps& vectors, bool weights, const Told& told) {
  return weights ? vectors.dot(views, "u", "u", "w", told) : vectors.dot(views, "u", "u", told);
}

}  // namespace

Program lsqr(const RayOperator& A, const LsqrParameters& parameters) {
  check_matched(A, "lsqr");
  check_iterations(parameters.iterations);
  check_tolerance(parameters.tolerance);
  const bool weights = parameters.weights;
  Program program = A.program("lsqr");
  declare(program, {volume_array("x", Lifetime::output), volume_array("v", Lifetime::state),
                    volume_array("p", Lifetime::state),  // the paper's w
                    volume_array("s", Lifetime::iteration), projection_array("b", Lifetime::input),
                    projection_array("u", Lifetime::state), projection_array("q", Lifetime::iteration)});
  if (weights) declare(program, {projection_array("w", Lifetime::input)});
  program.needs.iterations = parameters.iterations;
  for (const char* name : {"alpha", "beta", "rho bar", "phi bar", "phi/rho", "theta/rho", "residual"})
    program.scalars[name] = 0;
  declare_gradient(program);
  const VectorSteps vectors(program);
  const auto begun = [from_start = parameters.from_start](double square, Scalars& known) {
    known["alpha"] = std::sqrt(square) / (known["beta"] > 0 ? known["beta"] : 1);
    known["rho bar"] = known["alpha"];
    known["phi bar"] = known["residual"] = known["beta"];
    known["gradient"] = std::sqrt(square);
    if (!from_start) known["gradient at 0"] = known["gradient"];
  };
  if (parameters.from_start) program.first = gradient_at_zero(A, vectors, weights ? "w" : "", "s", "q");
  append(program.first, begin_image(program, vectors, parameters.from_start, {}));
  append(program.first, {project_start(A, vectors, parameters.from_start, "q"), vectors.scale(views, 1, "b", "u"),
                         vectors.combine(views, -1, "q", 1, "u"), norm_of_u(vectors, weights, keep_root("beta"))});
  append(program.first, back(A, vectors, weights));
  append(program.first, {vectors.dot(slices, "s", "s", begun), vectors.scale(slices, inverse("beta"), "s", "v"),
                         vectors.scale(slices, inverse("alpha"), "v", "p")});
  program.each = {A.project("v", "q"),
                  vectors.combine(views, inverse("alpha"), "q", quotient("alpha", "beta", -1), "u"),
                  norm_of_u(vectors, weights, keep_root("beta"))};
  append(program.each, back(A, vectors, weights));
  append(program.each,
         {vectors.combine(slices, inverse("beta"), "s", quotient("beta", "alpha", -1), "v"),
          vectors.dot(slices, "v", "v", rotate),
          vectors.combine(
              slices, [](const Scalars& known) { return known.at("phi/rho"); }, "p", 1, "x"),
          vectors.combine(
              slices, inverse("alpha"), "v", [](const Scalars& known) { return -known.at("theta/rho"); }, "p")});
  end_at_gradient(program, parameters.tolerance);
  return program;
}

}  // namespace halocline
