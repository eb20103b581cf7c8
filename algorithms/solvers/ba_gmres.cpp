#include "algorithms/solvers/ba_gmres.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

using enum Domain;

std::string basis(int n) {
  return fmt::format("v {}", n);
}

// Of the Hessenberg matrix: row `row` of the column that iteration `column` makes.
std::string entry(int row, int column) {
  return fmt::format("h {} {}", row, column);
}

int iteration_of(const Scalars& known) {
  return static_cast<int>(known.at(iteration_scalar));
}

// y that minimises ||start e_0 - H y|| for the first `columns` columns, by Givens rotations, and that minimum.
std::pair<std::vector<double>, double> solve(const Scalars& known, int columns) {
  const auto size = static_cast<std::size_t>(columns);
  std::vector<std::vector<double>> H(size + 1, std::vector<double>(size, 0.0));
  std::vector<double> right(size + 1, 0.0);
  right[0] = known.at("start");
  for (std::size_t column = 0; column < size; ++column)
    for (std::size_t row = 0; row <= column + 1; ++row)
      H[row][column] = known.at(entry(static_cast<int>(row), static_cast<int>(column)));
  for (std::size_t n = 0; n < size; ++n) {
    const double length = std::hypot(H[n][n], H[n + 1][n]);
    const double c = length > 0 ? H[n][n] / length : 1, s = length > 0 ? H[n + 1][n] / length : 0;
    for (std::size_t column = n; column < size; ++column) {
      const double above = H[n][column], below = H[n + 1][column];
      H[n][column] = c * above + s * below;
      H[n + 1][column] = c * below - s * above;
    }
    const double above = right[n];
    right[n] = c * above;
    right[n + 1] = -s * above;
  }
  std::vector<double> y(size, 0.0);
  for (std::size_t n = size; n-- > 0;) {
    double rest = right[n];
    for (std::size_t column = n + 1; column < size; ++column) rest -= H[n][column] * y[column];
    y[n] = H[n][n] != 0 ? rest / H[n][n] : 0;
  }
  return {y, std::abs(right[size])};
}

Step if_iteration(Step step, const std::function<bool(int now)>& condition) {
  step.due = [condition](const Scalars& known) { return condition(iteration_of(known)); };
  return step;
}

// One iteration: s = B A v_k, made orthogonal to v_0 .. v_k, becomes v_{k + 1}.
std::vector<Step> arnoldi(const RayOperator& A, const VectorSteps& vectors, int iterations) {
  std::vector<Step> steps;
  for (int n = 0; n < iterations; ++n)
    steps.push_back(if_iteration(A.project_fast(basis(n), "r"), [n](int now) { return now == n; }));
  steps.push_back(A.backproject("r", "s"));
  for (int n = 0; n < iterations; ++n) {
    const auto condition = [n](int now) { return now >= n; };
    const auto keep_entry = [n](double sum, Scalars& known) { known[entry(n, iteration_of(known))] = sum; };
    const auto minus_entry = [n](const Scalars& known) { return -known.at(entry(n, iteration_of(known))); };
    steps.push_back(if_iteration(vectors.dot(slices, "s", basis(n), keep_entry), condition));
    steps.push_back(if_iteration(vectors.combine(slices, minus_entry, basis(n), 1, "s"), condition));
  }
  steps.push_back(vectors.dot(slices, "s", "s", [](double square, Scalars& known) {
    const int now = iteration_of(known);
    known[entry(now + 1, now)] = std::sqrt(square);
    known["gradient"] = solve(known, now + 1).second;
  }));
  for (int n = 1; n < iterations; ++n) {
    const auto inverse = [n](const Scalars& known) { return ratio(1, known.at(entry(n, n - 1))); };
    steps.push_back(if_iteration(vectors.scale(slices, inverse, "s", basis(n)), [n](int now) { return now == n - 1; }));
  }
  return steps;
}

}  // namespace

Program ba_gmres(const RayOperator& A, const BaGmresParameters& parameters) {
  check_iterations(parameters.iterations);
  check_tolerance(parameters.tolerance);
  const int iterations = parameters.iterations;
  Program program = A.program("ba-gmres");
  declare(program, {volume_array("x", Lifetime::output), volume_array("s", Lifetime::iteration),
                    projection_array("b", Lifetime::input), projection_array("r", Lifetime::iteration)});
  for (int n = 0; n < iterations; ++n) declare(program, {volume_array(basis(n), Lifetime::state)});
  program.needs.iterations = iterations;
  program.scalars = {{"start", 0}, {"residual", 0}};
  declare_gradient(program);
  for (int column = 0; column < iterations; ++column)
    for (int row = 0; row <= column + 1; ++row) program.scalars[entry(row, column)] = 0;
  const VectorSteps vectors(program);
  const auto begun = [from_start = parameters.from_start](double square, Scalars& known) {
    known["start"] = known["gradient"] = std::sqrt(square);
    if (!from_start) known["gradient at 0"] = known["gradient"];
  };
  const auto inverse = [](const Scalars& known) { return ratio(1, known.at("start")); };
  if (parameters.from_start) program.first = gradient_at_zero(A, vectors, "", "s", "r");
  append(program.first, begin_image(program, vectors, parameters.from_start, {}));
  append(program.first, {project_start(A, vectors, parameters.from_start, "r"), vectors.combine(views, 1, "b", -1, "r"),
                         A.backproject("r", "s"), vectors.dot(slices, "s", "s", begun),
                         vectors.scale(slices, inverse, "s", basis(0))});
  program.each = arnoldi(A, vectors, iterations);
  for (int n = 0; n < iterations; ++n) {
    const auto factor = [n](const Scalars& known) {
      return solve(known, iteration_of(known)).first[static_cast<std::size_t>(n)];
    };
    program.last.push_back(
        if_iteration(vectors.combine(slices, factor, basis(n), 1, "x"), [n](int done) { return done > n; }));
  }
  append(program.last, {A.project("x", "r"), vectors.distance(views, "b", "r", keep_root("residual"))});
  end_at_gradient(program, parameters.tolerance);
  return program;
}

}  // namespace halocline
