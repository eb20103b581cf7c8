#include "algorithms/solvers/solver.hpp"

namespace halocline {
namespace {

Program begun(const char* name, const ReconstructionProblem& problem) {
  Program program = problem.A.program(name, problem.subsets.largest());
  program.needs.iterations = problem.parameters.passes * problem.subsets.count();
  if (problem.given.start) program.given = {"x"};
  return program;
}

}  // namespace

Solver::Solver(const char* name, const ReconstructionProblem& problem)
    : Recording(begun(name, problem), problem.A.volume(), problem.A.projections()),
      parameters(problem.parameters),
      given(problem.given),
      bounds{parameters.regulariser.minimum, parameters.regulariser.maximum},
      A(expressions::projector(*this, problem.A)),
      fast_A(expressions::fast_projector(*this, problem.A)),
      exact_A(expressions::exact_projector(*this, problem.A)),
      x(volume("x", Lifetime::output)),
      b(projections("b", Lifetime::input)),
      w(given.weights ? projections("w", Lifetime::input) : Array()),
      exact_(problem.A.is_exact()),
      subsets_(problem.subsets.count()),
      truth_(given.truth ? volume("truth", Lifetime::input) : Array()) {}

void Solver::begin_image() {
  if (!given.start)
    x = 0;
  else if (parameters.regulariser.boxed())
    x = within(bounds, x);
}

Array Solver::start_residual() const {
  if (!given.start) return 1 * b;
  Array r = A * x;
  r = b - r;
  return r;
}

Array Solver::gradient(const Array& r, Array& q) const {
  if (w.empty()) return adjoint(A) * r;
  q = r * w;
  return adjoint(A) * q;
}

Scalar Solver::square(const Array& y) const {
  return w.empty() ? dot(y, y) : dot(y, y, w);
}

void Solver::compare(const Array& image) {
  if (truth_.empty()) return;
  Variable error = number(truth_scalar);
  error = sqrt(squared_distance(image, truth_));
}

Program Solver::finish(const std::function<Array()>& image) {
  if (given.truth) {
    const auto ends_pass = [subsets = subsets_](const Scalars& known) {
      return (static_cast<int>(known.at(iteration_scalar)) + 1) % subsets == 0;
    };
    if (!program().scalars.contains("certified")) each([&] { when(ends_pass, [&] { compare(image ? image() : x); }); });
    last([&] { compare(x); });
  }
  return Recording::finish();
}

NormalEquations::NormalEquations(Solver& solver)
    : residual(solver.number("residual")),
      solver_(solver),
      gradient_(solver.number("gradient")),
      at_zero_(solver.number("gradient at 0")) {
  solver.program().ends = [tolerance = solver.parameters.tolerance](int, const Scalars& known) {
    return known.at("gradient") <= tolerance * known.at("gradient at 0");
  };
}

void NormalEquations::at_zero(Array& u, const Array& w) {
  if (!solver_.given.start) return;
  const Array r = w.empty() ? Array(1 * solver_.b) : Array(solver_.b * w);
  u = adjoint(solver_.A) * r;
  at_zero_ = norm(u);
}

void NormalEquations::renew_residual() {
  if (solver_.is_exact()) return;
  constexpr int every = 10;
  const auto renew = [this] {
    Array r = solver_.exact_A * solver_.x;
    r = solver_.b - r;
    residual = sqrt(solver_.square(r));
  };
  solver_.each([&] {
    solver_.when([](const Scalars& known) { return static_cast<int>(known.at(iteration_scalar)) % every == every - 1; },
                 renew);
  });
  solver_.last(renew);
}

void NormalEquations::report(const Scalar& norm, bool first) {
  gradient_ = norm;
  if (first && !solver_.given.start) at_zero_ = norm;
}

}  // namespace halocline
