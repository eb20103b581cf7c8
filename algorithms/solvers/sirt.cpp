// SIRT, the simultaneous iterative reconstruction technique:
//   x <- x + omega C^-1 A^T R^-1 (b - A x),  R = A 1, C = A^T 1, 0 where these are 0
// (Gilbert 1972; Hansen, Jorgensen & Lionheart 2021, section 11.2). "gradient" is ||A^T R^-1 (b - A x)||, which is 0
// where ||b - A x|| is least in the norm of R^-1.
#include "algorithms/solvers/solver.hpp"

namespace halocline {
namespace {

Program sirt(const ReconstructionProblem& problem) {
  Solver s("sirt", problem);
  NormalEquations equations(s);
  const double omega = s.parameters.relaxation;
  Array u = s.volume("u", Lifetime::state);  // A^T R^-1 (b - A x)
  Array inverse_C = s.volume("1/C", Lifetime::state), inverse_R = s.projections("1/R", Lifetime::state);
  s.first([&] {
    u = 1;
    inverse_R = s.A * u;
    inverse_R = reciprocal(inverse_R);
    inverse_C = adjoint(s.A) * constant(s.projections(), 1);
    inverse_C = reciprocal(inverse_C);
    equations.at_zero(u, inverse_R);
    s.begin_image();
    Array r = s.start_residual();
    r *= inverse_R;
    u = adjoint(s.A) * r;
    equations.report(norm(u), true);
  });
  s.each([&] {
    s.x = within(s.bounds, fma(omega * u, inverse_C, s.x));
    Array r = s.A * s.x;
    equations.residual = sqrt(squared_distance(s.b, r));
    r = (s.b - r) * inverse_R;
    u = adjoint(s.A) * r;
    equations.report(norm(u));
  });
  equations.renew_residual();
  return s.finish();
}

}  // namespace

constinit const SolverMethod sirt_method{.name = "sirt",
                                         .about = "simultaneous iterative reconstruction, robust and slow",
                                         .passes = 100,
                                         .start = true,
                                         .bounds = true,
                                         .relaxation = true,
                                         .tolerance = true,
                                         .program = sirt};

}  // namespace halocline
