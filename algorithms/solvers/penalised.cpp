#include "algorithms/solvers/penalised.hpp"

#include <algorithm>

namespace halocline {

Penalised::Penalised(const char* name, const ReconstructionProblem& problem,
                     const std::function<std::vector<int>(int pass)>& order_of)
    : OrderedSolver(name, problem, order_of),
      penalty(*this, {parameters.lambda, parameters.regulariser}),
      tau(volume("tau", Lifetime::state)),
      p(projections("p", Lifetime::iteration)),
      sorted_(problem.subsets) {
  for (ArrayNeed& need : program().needs.arrays)
    if (need.name == name_of(x)) need.halo_inout = true;
}

void Penalised::find_steps(double scale, Array& f) {
  constexpr double least_seen = 1e-2;  // of the mean
  f = 1;
  p = A * f;
  if (!w.empty()) p *= w;
  tau = 0;
  for (int s = 0; s < subsets; ++s)
    over([views = sorted_.range(s)](const Scalars&) { return views; },
         [&] {
           f = adjoint(A) * p;
           tau = max(tau, f);
         });
  const Scalar mean = expressions::mean(tau);
  tau = scale / max(tau, where(mean, least_seen * mean, 1));
}

void Penalised::begin_image() {
  if (given.start)
    x = within({penalty.minimum(), penalty.maximum()}, x);
  else
    x = std::max(0.0, penalty.minimum());
  penalty.start();
}

Array Penalised::misfit(const Array& projections, double s) const {
  if (w.empty()) return s * (projections - b);
  return s * w * (projections - b);
}

}  // namespace halocline
