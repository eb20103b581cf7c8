#include "algorithms/solvers/pdhg.hpp"

#include <memory>

#include "algorithms/solvers/pass_order.hpp"
#include "algorithms/solvers/penalised_steps.hpp"
#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

using enum Domain;
constexpr double pdhg_safety = 0.99, pdhg_eta = 0.05;  // of 0.01 to 3 the one with the fewest passes (measured)

double dual_step(const Scalars& known, double norm2) {
  return norm2 > 0 ? pdhg_eta * known.at("mean") / norm2 : 0;
}

}  // namespace

Program pdhg(const RayOperator& A, const TvParameters& penalty, const PdhgParameters& parameters) {
  check_matched(A, "pdhg");
  const bool weighted = parameters.weighted;
  Program program = A.program("pdhg");
  PenalisedSteps::declare(program, weighted, parameters.given_start);
  declare(program, {volume_array("z", Lifetime::state),
                    volume_array("ubar", Lifetime::state),
                    {.name = "f", .lifetime = Lifetime::iteration, .halo_inout = true},
                    projection_array("r", Lifetime::state)});
  program.needs.iterations = parameters.passes;
  const TvTerm term(A.volume(), penalty);
  const VectorSteps vectors(program, 4, 2);
  const PenalisedSteps steps(A, vectors, weighted);
  const Certificate certificate(A, term, vectors, parameters.certificate,
                                {"x", "z", "f", "ubar", "p", "r", "b", weighted ? "w" : ""});
  term.declare(program);
  certificate.declare(program);

  program.first = steps.weighted_rows("f");
  program.first.push_back(A.backproject("p", "tau"));
  append(program.first, steps.primal_steps(pdhg_safety / pdhg_eta));
  append(program.first, steps.start(term, parameters.given_start));
  append(program.first, {A.project("x", "r"), steps.residual(1, "r"), A.backproject("r", "z")});
  if (parameters.near_minimum) append(program.first, certificate.start_dual());
  program.first.push_back(vectors.scale(slices, 1, "x", "ubar"));
  program.each = {
      term.primal_dual("z", "tau", "x", "ubar",
                       [norm2 = term.gradient_norm2()](const Scalars& known) { return dual_step(known, norm2); }),
      A.project_fast("ubar", "p"), steps.rays(pdhg_eta / (1 + pdhg_eta)), A.backproject("p", "f"),
      vectors.combine(slices, 1, "f", 1, "z")};
  const auto every = [n = parameters.certificate.every, passes = parameters.passes](const Scalars& known) {
    const int done = static_cast<int>(known.at(iteration_scalar)) + 1;
    return done % n == 0 && done < passes;
  };
  // a look writes over ubar, which counts no more
  append(program.each, certificate.look(every));
  certificate.end(program, [&](const auto& due) { return certificate.look(due); });
  return program;
}

}  // namespace halocline
