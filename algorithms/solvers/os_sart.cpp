// SART with ordered subsets:
//   x <- x + omega C_s^-1 A_s^T R^-1 (b - A x)_s,  subset s after subset, R = A 1, C_s = A_s^T 1, 0 where these are 0.
// One view a subset is SART (Andersen & Kak 1984, with the sums of the projector), all views in one SIRT.
#include "algorithms/solvers/os_sart.hpp"

namespace halocline {

OsSart::OsSart(const char* name, const ReconstructionProblem& problem, double relaxation_factor)
    : SubsetSolver(name, problem),
      inverse_R_(projections("1/R", Lifetime::state)),
      omega_(by_pass([omega = parameters.relaxation, relaxation_factor](int pass) {
        return omega * std::pow(relaxation_factor, pass);
      })) {}

void OsSart::begin() {
  inverse_R_ = A * constant(volumes(), 1);
  inverse_R_ = reciprocal(inverse_R_);
  begin_image();
}

void OsSart::iterate() {
  over_subset([this] {
    Array r = A * x;
    report(squared_distance(b, r));
    r = (b - r) * inverse_R_;
    const Array u = adjoint(A) * r;
    with_inverse_sums(r, [&](const Array& inverse) { x = within(bounds, fma(omega_ * u, inverse, x)); });
  });
}

namespace {

Program os_sart(const ReconstructionProblem& problem) {
  OsSart s("os-sart", problem);
  s.first([&] { s.begin(); });
  s.each([&] { s.iterate(); });
  s.last([&] { s.report_all(); });
  return s.finish();
}

}  // namespace

constinit const SolverMethod sart_method{.name = "sart",
                                         .about = "the same view by view: fast at first, ends in a limit cycle",
                                         .passes = 5,
                                         .start = true,
                                         .bounds = true,
                                         .relaxation = true,
                                         .subset_sums = true,
                                         .default_subsets = SolverMethod::subset_each_view,
                                         .program = os_sart};

constinit const SolverMethod os_sart_method{.name = "os-sart",
                                            .about = "the same by ordered subsets",
                                            .passes = 10,
                                            .start = true,
                                            .bounds = true,
                                            .relaxation = true,
                                            .subsets = true,
                                            .subset_sums = true,
                                            .default_subsets = SolverMethod::few_subsets,
                                            .program = os_sart};

}  // namespace halocline
