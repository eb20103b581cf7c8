// CGLS, conjugate gradients for least squares: min ||b - A x||_W (Hestenes & Stiefel 1952; Bjorck 1996, section 7.4).
// Each new gradient is made orthogonal to the first one, which in float32 keeps the convergence of double. With the
// preconditioner `ramp` the search directions are made from M s instead of the gradient s, M the ramp filter of the
// slices: A^T A blurs much as 1 / |frequency|, so M A^T A is near a multiple of the identity, and a few iterations from
// the image of FDK do what dozens do without. There are no bounds, for conjugate directions end where voxels are
// clipped.
#include <optional>

#include "algorithms/solvers/ramp_filter.hpp"
#include "algorithms/solvers/solver.hpp"

namespace halocline {
namespace {

Program cgls(const ReconstructionProblem& problem) {
  Solver s("cgls", problem);
  NormalEquations equations(s);
  std::optional<RampFilter> M;
  if (s.parameters.precondition == Preconditioner::ramp) M.emplace(s);
  Array g = s.volume("s", Lifetime::iteration), z = M ? s.volume("z", Lifetime::iteration) : g;  // A^T W r, M g
  Array p = s.volume("p", Lifetime::state), e = s.volume("e", Lifetime::state);  // e: the first z, <e, M^-1 e> = 1
  Array r = s.projections("r", Lifetime::state);
  Variable gamma = s.number("gamma");
  s.first([&] {
    equations.at_zero(g, s.w);
    s.begin_image();
    Array q = s.start_residual();
    r = q;
    g = s.gradient(r, q);
    const Scalar square = dot(g, g);
    equations.report(sqrt(square), true);
    if (M) M->filter(g, z);
    gamma = M ? dot(g, z) : square;
    p = 1 * z;
    e = ratio(1, sqrt(gamma)) * z;
  });
  s.each([&] {
    Array q = s.A * p;
    const Scalar alpha = ratio(gamma, s.square(q));
    s.x = fma(alpha, p, s.x);
    r = fma(-alpha, q, r);
    equations.residual = sqrt(s.square(r));
    g = s.gradient(r, q);
    if (M) M->filter(g, z);
    const Scalar along = dot(e, g), before = M ? dot(g, z) : Scalar();
    z = fma(-along, e, z);
    const Scalar square = dot(g, g);
    equations.report(sqrt(square));
    // <g, z> of a g that were made orthogonal, too: the first g is the g_0 of e = M g_0
    const Scalar next = M ? max(0, before - along * along) : square;
    p = z + ratio(next, gamma) * p;
    gamma = next;
  });
  equations.renew_residual();
  return s.finish();
}

}  // namespace

constinit const SolverMethod cgls_method{
    .name = "cgls",
    .about = "conjugate gradients for least squares; noise comes back with more passes",
    .passes = 12,
    .weights = true,
    .start = true,
    .tolerance = true,
    .precondition = true,
    .adjoint = true,
    .gathered = "search directions",
    .program = cgls};

}  // namespace halocline
