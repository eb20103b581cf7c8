// MLEM and its form with ordered subsets, OSEM:
//   x <- x C_s^-1 A_s^T (b / A x)_s,  subset s after subset, C_s = A_s^T 1
// (Shepp & Vardi 1982; Lange & Carson 1984; Hudson & Larkin 1994): for emissions b it maximises the Poisson likelihood.
// Values of b below 0 count as 0, and so do those of a given x. Voxels that no ray of the subset meets do not change;
// those that no ray meets at all begin at 0, others at 1.
#include "algorithms/solvers/subset_solver.hpp"

namespace halocline {
namespace {

Program osem(const char* name, const ReconstructionProblem& problem) {
  SubsetSolver s(name, problem);
  s.first([&] {
    if (s.given.start) {
      s.x = within({.minimum = 0}, s.x);
    } else {
      s.x = adjoint(s.A) * constant(s.projections(), 1);
      s.x = positive(s.x);
    }
  });
  s.each([&] {
    s.over_subset([&] {
      Array r = s.A * s.x;
      s.report(squared_distance(s.b, r));
      r = where(r, max(s.b, 0) / r, 0);
      const Array u = adjoint(s.A) * r;
      s.with_inverse_sums(r, [&](const Array& inverse) { s.x = where(inverse, s.x * (u * inverse), s.x); });
    });
  });
  s.last([&] { s.report_all(); });
  return s.finish();
}

}  // namespace

constinit const SolverMethod mlem_method{
    .name = "mlem",
    .about = "maximum likelihood of emissions",
    .passes = 50,
    .start = true,
    .program = [](const ReconstructionProblem& problem) { return osem("mlem", problem); }};

constinit const SolverMethod osem_method{
    .name = "osem",
    .about = "the same by ordered subsets",
    .passes = 10,
    .start = true,
    .subsets = true,
    .subset_sums = true,
    .default_subsets = SolverMethod::few_subsets,
    .program = [](const ReconstructionProblem& problem) { return osem("osem", problem); }};

}  // namespace halocline
