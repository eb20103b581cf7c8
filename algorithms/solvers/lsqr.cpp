// LSQR: min ||b - A x||_W by the bidiagonalisation of Golub & Kahan (Paige & Saunders 1982), which is CGLS in exact
// arithmetic. The vectors u and v of the paper are kept as beta u and alpha v, so that none is scaled by itself. "s" is
// A^T W u.
#include "algorithms/solvers/solver.hpp"

namespace halocline {
namespace {

Program lsqr(const ReconstructionProblem& problem) {
  Solver s("lsqr", problem);
  NormalEquations equations(s);
  Array u = s.projections("u", Lifetime::state), v = s.volume("v", Lifetime::state),
        p = s.volume("p", Lifetime::state);  // p: the paper's w
  Array back = s.volume("s", Lifetime::iteration);
  Variable alpha = s.number("alpha"), beta = s.number("beta"), rho_bar = s.number("rho bar"),
           phi_bar = s.number("phi bar");
  s.first([&] {
    equations.at_zero(back, s.w);
    s.begin_image();
    Array q = s.start_residual();
    u = q;
    beta = sqrt(s.square(u));
    back = s.gradient(u, q);
    const Scalar length = norm(back);
    alpha = length / where(beta, beta, 1);
    rho_bar = alpha;
    phi_bar = beta;
    equations.residual = beta;
    equations.report(length, true);
    v = ratio(1, beta) * back;
    p = ratio(1, alpha) * v;
  });
  s.each([&] {
    Array q = s.A * v;
    u = fma(ratio(1, alpha), q, -ratio(alpha, beta) * u);
    beta = sqrt(s.square(u));
    back = s.gradient(u, q);
    v = fma(ratio(1, beta), back, -ratio(beta, alpha) * v);
    alpha = norm(v);
    // the plane rotation that takes beta away
    const Scalar rho = hypot(rho_bar, beta), cosine = ratio(rho_bar, rho), sine = ratio(beta, rho);
    s.x = fma(ratio(cosine * phi_bar, rho), p, s.x);
    p = fma(ratio(1, alpha), v, -ratio(sine * alpha, rho) * p);
    rho_bar = -cosine * alpha;
    phi_bar = phi_bar * sine;
    equations.residual = abs(phi_bar);
    equations.report(abs(phi_bar * alpha * cosine));
  });
  equations.renew_residual();
  return s.finish();
}

}  // namespace

constinit const SolverMethod lsqr_method{.name = "lsqr",
                                         .about = "the same by bidiagonalisation",
                                         .passes = 12,
                                         .weights = true,
                                         .start = true,
                                         .tolerance = true,
                                         .adjoint = true,
                                         .gathered = "search directions",
                                         .program = lsqr};

}  // namespace halocline
