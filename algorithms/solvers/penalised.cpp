#include "algorithms/solvers/penalised.hpp"

#include <algorithm>

namespace halocline {

Penalised::Penalised(const char* name, const ReconstructionProblem& problem, std::shared_ptr<const PassOrder> order)
    : Solver(name, problem),
      subsets_(problem.subsets),
      order_(std::move(order)),
      penalty_(*this, {parameters.lambda, parameters.regulariser}),
      tau_(volume("tau", Lifetime::state)),
      p_(projections("p", Lifetime::iteration)) {
  for (ArrayNeed& need : program().needs.arrays)
    if (need.name == name_of(x)) need.halo_inout = true;
}

CertificateParameters Penalised::certificate_parameters() const {
  CertificateParameters result;
  result.gap = parameters.gap;
  result.polish_steps = parameters.polish_steps;
  result.gap_map = parameters.gap_map;
  return result;
}

void Penalised::find_steps(double scale, Array& f) {
  constexpr double least_seen = 1e-2;  // of the mean
  f = 1;
  p_ = A * f;
  weigh(p_);
  tau_ = 0;
  for (int s = 0; s < subsets_.count(); ++s)
    over([views = subsets_.range(s)](const Scalars&) { return views; },
         [&] {
           f = adjoint(A) * p_;
           tau_ = max(tau_, f);
         });
  const Scalar mean = expressions::mean(tau_);
  tau_ = scale / max(tau_, where(mean, least_seen * mean, 1));
}

void Penalised::begin_image() {
  if (given.start)
    x = within({penalty_.minimum(), penalty_.maximum()}, x);
  else
    x = std::max(0.0, penalty_.minimum());
  penalty_.start();
}

Array Penalised::misfit(const Array& p, double s) const {
  if (w.empty()) return s * (p - b);
  return s * w * (p - b);
}

void Penalised::over_subset(const Body& body) {
  over([order = order_](const Scalars& known) { return order->views(known); }, body);
}

}  // namespace halocline
