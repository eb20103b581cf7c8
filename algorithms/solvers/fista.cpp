// FISTA: penalised weighted least squares by accelerated gradient steps (Beck & Teboulle 2009): with d = A^T W A 1, for
// which A^T W A <= diag d (Erdogan & Fessler 1999),
//   x+ = prox(y - d^-1 g),  g = S A_s^T W_s (A_s y - b_s),  y = x+ + (t - 1) / t+ (x+ - x),
//   t+ = (1 + sqrt(1 + 4 t^2)) / 2.
// With all views in each step the momentum restarts where <d (y - x+), x+ - x> > 0 (O'Donoghue & Candes 2015). With S >
// 1 subsets in bit-reversed order (Kim, Ramani & Fessler 2015) the first passes are faster, and the iterates end near
// the minimum, not at it. Their d is S max_s A_s^T W A_s 1, which bounds each subset's share, so that steps without
// momentum bring no two images farther apart. Momentum may amplify what subsets of few views lack of the whole: where a
// look sees so, they go back to the image of the least objective so far (BestIterate), and on without it. The proximal
// operator is a few warm iterations of S-PDU.
#include <optional>

#include "algorithms/solvers/best_iterate.hpp"
#include "algorithms/solvers/momentum.hpp"
#include "algorithms/solvers/penalised.hpp"

namespace halocline {
namespace {

// prox_steps: iterations of S-PDU a gradient step. every: passes between two looks.
Program accelerated(const ReconstructionProblem& problem, int prox_steps, int every) {
  const bool may_diverge = problem.subsets.count() > 1;
  Penalised s(may_diverge ? "os-fista" : "fista", problem);
  Array u = s.volume("u", Lifetime::state, true), y = s.volume("y", Lifetime::state);  // u: x+
  Array f = s.volume("f", Lifetime::iteration), u_bar = s.volume("ubar", Lifetime::iteration),
        r = s.projections("r", Lifetime::iteration);
  Momentum momentum(s);
  Certificate certificate(s, s.penalty, {f, u, u_bar, s.p, r}, may_diverge);
  std::optional<BestIterate> best;
  if (may_diverge) best.emplace(s);
  const auto look = [&] {  // with r = W (A x - b); f is made again by the next iteration
    s.p = s.A * s.x;
    r = s.misfit(s.p);
    f = adjoint(s.A) * r;
    certificate.look(true);
    if (best) best->look(certificate.objective(), s.x);
    u = s.x;
  };
  s.first([&] {
    if (best) best->at_zero(s.square(s.b) / 2);
    s.find_steps(1.0 / s.subsets, f);
    s.begin_image();
    if (s.given.near_minimum) {
      s.p = s.A * s.x;
      s.p = s.misfit(s.p);
      f = adjoint(s.A) * s.p;
      certificate.start_dual();
    }
    y = s.x;
    u = s.x;
  });
  s.each([&] {
    s.over_subset([&] {
      s.p = s.fast_A * y;
      s.p = s.misfit(s.p, s.subsets);
      f = adjoint(s.fast_A) * s.p;
    });
    f = fma(-s.tau, f, y);
    for (int n = 0; n < prox_steps; ++n) s.penalty.prox(f, s.tau, u);
    const Scalar along = dot(y - u, (u - s.x) / s.tau);
    momentum.step(s.x, y, u, best ? best->diverged() : along);
    const auto due =
        may_diverge ? s.ends_first_and_every(every) : certificate.due(s.ends_earlier_pass(), every * s.subsets);
    s.when(due, [&] {
      look();
      if (best)
        s.when(BestIterate::goes_back, [&] {  // with a dual of 0
          best->restore(s.x);
          s.penalty.start();
          u = s.x;
          y = s.x;
        });
    });
  });
  certificate.end(look, [&] {
    if (best) s.when(BestIterate::goes_back, look);  // at the best image
  });
  return s.finish();
}

}  // namespace

constinit const SolverMethod fista_method =
    penalised_method({.name = "fista",
                      .about = "the same objective by accelerated gradient steps",
                      .passes = 100,
                      .gathered = "momentum",
                      .program = [](const ReconstructionProblem& problem) { return accelerated(problem, 8, 10); }});

constinit const SolverMethod os_fista_method =
    penalised_method({.name = "os-fista",
                      .about = "the same by ordered subsets: fast at first, ends near the minimum",
                      .passes = 20,
                      .subsets = true,
                      .default_subsets = SolverMethod::few_subsets,
                      .gathered = "momentum",
                      .program = [](const ReconstructionProblem& problem) { return accelerated(problem, 4, 5); }});

}  // namespace halocline
