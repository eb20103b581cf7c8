// Gradient steps with a step length for each voxel and Nesterov's momentum: min ||b - A x||_W within the bounds by
//   x+ = y + d^-1 A^T W (b - A y),  d = A^T W A 1,  y = x+ + beta (x+ - x),  beta = (t - 1) / t+,
//   t+ = (1 + sqrt(1 + 4 t^2)) / 2
// (Erdogan & Fessler 1999; Nesterov 1983; Beck & Teboulle 2009), and t = 1, y = x+ where <d (y - x+), x+ - x> > 0
// (O'Donoghue & Candes 2015, gradient scheme). "gradient" is that of y, at the end that of x.
#include "algorithms/solvers/momentum.hpp"

namespace halocline {
namespace {

Program nesterov(const ReconstructionProblem& problem) {
  Solver s("nesterov", problem);
  NormalEquations equations(s);
  Array u = s.volume("u", Lifetime::state), inverse_d = s.volume("1/d", Lifetime::state),
        y = s.volume("y", Lifetime::state);
  Array q = s.projections("q", Lifetime::state);  // b - A x, of which b - A y follows
  Momentum momentum(s);
  s.first([&] {
    u = 1;
    Array r = s.A * u;
    inverse_d = s.gradient(r, r);
    inverse_d = reciprocal(inverse_d);
    equations.at_zero(u, s.w);
    s.begin_image();
    q = s.start_residual();
    equations.residual = sqrt(s.square(q));
    y = s.x;
    u = s.gradient(q, r);
    equations.report(norm(u), true);
  });
  s.each([&] {
    u = y + inverse_d * u;
    if (s.parameters.regulariser.boxed()) u = within(s.bounds, u);
    const Scalar turn = dot(y - u, where(inverse_d, (u - s.x) / inverse_d, 0));
    const Scalar beta = momentum.step(s.x, y, u, turn);
    Array r = s.A * s.x;
    r = s.b - r;
    equations.residual = sqrt(s.square(r));
    const Array before = 1 * q;
    q = r;
    r = fma(beta, r - before, r);
    u = s.gradient(r, r);
    equations.report(norm(u));
  });
  s.last([&] {
    Array r;
    u = s.gradient(q, r);
    equations.report(norm(u));
  });
  equations.renew_residual();
  return s.finish();
}

}  // namespace

constinit const SolverMethod nesterov_method{
    .name = "nesterov",
    .about = "least squares within bounds by gradient steps with momentum and restarts",
    .passes = 50,
    .weights = true,
    .start = true,
    .bounds = true,
    .tolerance = true,
    .adjoint = true,
    .gathered = "momentum",
    .program = nesterov};

}  // namespace halocline
