// Iterative FDK: x <- x + omega alpha F (b - A x), F the weights, ramp filter and back-projection of FDK (Medoff et al.
// 1983; Zeng & Gullberg 2000, F as an unmatched back-projector with the ramp), alpha the step to the least ||b - A x||
// along that direction: with alpha = 1 the iterations diverge where views are few for the voxels. Without bounds ||b -
// A x|| never grows. It corrects what FDK gets wrong of the data: cone artefacts, few views, bounds. F is no adjoint,
// so there is no objective, and noise returns with more iterations. "gradient" is ||F (b - A x)||.
#include "algorithms/solvers/solver.hpp"

namespace halocline {
namespace {

Program iterative_fdk(const ReconstructionProblem& problem) {
  Solver s("fdk", problem);
  NormalEquations equations(s);
  const LinearOperator F = adjoint(s.A);
  const double omega = s.parameters.relaxation;
  Array u = s.volume("u", Lifetime::state), r = s.projections("r", Lifetime::state);  // F r, b - A x
  s.first([&] {
    equations.at_zero(u, {});
    s.begin_image();
    r = s.start_residual();
    equations.residual = norm(r);
    u = F * r;
    equations.report(norm(u), true);
  });
  s.each([&] {
    const Array q = s.A * u;
    const Scalar alpha = ratio(dot(r, q), dot(q, q));
    s.x = fma(omega * alpha, u, s.x);
    if (s.parameters.regulariser.boxed()) {
      s.x = within(s.bounds, s.x);
      r = s.A * s.x;
      r = s.b - r;
    } else {
      r = fma(-omega * alpha, q, r);
    }
    equations.residual = norm(r);
    u = F * r;
    equations.report(norm(u));
  });
  return s.finish();
}

}  // namespace

constinit const SolverMethod fdk_method{.name = "fdk",
                                        .about = "iterative FDK: FDK of the residual is added again and again",
                                        .passes = 5,
                                        .start = true,
                                        .bounds = true,
                                        .relaxation = true,
                                        .tolerance = true,
                                        .fdk = true,
                                        .program = iterative_fdk};

}  // namespace halocline
