// labels: device slab
// The solver of docs/adding-an-algorithm.md: its source is that of the document, and it finds what it should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

// begin
// Landweber's iteration: x <- x + omega A^T (b - A x), omega = relaxation / ||A||^2.
#include "algorithms/solvers/solver.hpp"

namespace halocline {
namespace {

Program landweber(const ReconstructionProblem& problem) {
  Solver s("landweber", problem);
  NormalEquations equations(s);
  Array u = s.volume("u", Lifetime::state);  // A^T (b - A x)
  Variable squared_norm = s.number("squared norm");
  s.first([&] {
    u = 1;
    for (int n = 0; n < 20; ++n) {  // the power method
      u *= ratio(1, norm(u));
      const Array y = s.A * u;
      u = adjoint(s.A) * y;
    }
    squared_norm = norm(u);
    equations.at_zero(u, {});
    s.begin_image();
    u = adjoint(s.A) * s.start_residual();
    equations.report(norm(u), true);
  });
  s.each([&] {
    s.x = within(s.bounds, s.x + ratio(s.parameters.relaxation, squared_norm) * u);
    Array r = s.A * s.x;
    r = s.b - r;
    equations.residual = norm(r);
    u = adjoint(s.A) * r;
    equations.report(norm(u));
  });
  return s.finish();
}

}  // namespace

extern const SolverMethod landweber_method;
constinit const SolverMethod landweber_method{.name = "landweber",
                                              .about = "gradient descent with one step length",
                                              .passes = 200,
                                              .start = true,
                                              .bounds = true,
                                              .relaxation = true,
                                              .tolerance = true,
                                              .adjoint = true,
                                              .program = landweber};

}  // namespace halocline
// end

#include "tests/reference/solver_scan.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::worked_solver_test {
namespace {

using reference::Scan;

std::string text_of(const std::string& path) {
  std::ifstream in(HALOCLINE_SOURCE_DIR "/" + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

RunResult found_by(const Scan& scan, const std::vector<Device>& devices, const RunOptions& options) {
  const ReconstructionParameters parameters{.passes = 5, .relaxation = 0.9};
  const GivenInputs given{.start = true};
  return reference::run(
      scan,
      [&](const RayOperator& A) {
        return landweber_method.program({A, scan.subsets, parameters, given});
      },
      devices, options);
}

TEST(WorkedSolver, MatchesDoublePrecision) {
  const Scan scan(reference::scene_named("cone_tilted"), 1);
  const auto problem = scan.problem(false, std::nullopt);
  const auto expected = reference::landweber(problem, 5, 0.9 / problem.squared_norm(20), {});
  const RunResult found = found_by(scan, reference::device(), {});
  EXPECT_LT(reference::difference(found.output, expected), 2e-5);
  EXPECT_NEAR(found.scalars.at("residual"), problem.residual(expected), 1e-4 * problem.residual(expected));
}

TEST(WorkedSolver, SlabsAndCheckpointsChangeNoBit) {
  const Scan scan(reference::scene_named("cone_tilted"), 1);
  const SplitRun run = [&](const auto& devices, const auto& options) { return found_by(scan, devices, options); };
  expect_same_bits(run, scan.scene.grid.size[2]);
  expect_same_bits_resumed(run, 4);
}

TEST(WorkedSolver, IsThatOfTheDocument) {
  std::string here = text_of("tests/algorithms/solvers/worked_solver_test.cpp");
  const auto begin = here.find("// begin\n") + 9, end = here.find("// end\n");
  here = here.substr(begin, end - begin);
  const std::string only_here = "extern const SolverMethod landweber_method;\n";  // there the list declares it
  here.erase(here.find(only_here), only_here.size());
  EXPECT_THAT(text_of("docs/adding-an-algorithm.md"), testing::HasSubstr(here));
}

}  // namespace
}  // namespace halocline::worked_solver_test
