#include "algorithms/solvers/best_iterate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halocline {

BestIterate::BestIterate(expressions::Recording& on)
    : on_(on),
      best_(on.volume("best", Lifetime::state)),
      at_zero_(on.number("value at 0")),
      diverged_(on.number("diverged")),
      improved_(on.number("improved")) {
  on.number("least", std::numeric_limits<double>::infinity());
  on.number("goes back");
}

void BestIterate::judge(double objective, Scalars& known) {
  const bool less = objective < known.at("least");
  const double most = std::max(too_much * known.at("least"), small * known.at("value at 0"));
  const bool much = !less && (!std::isfinite(objective) || objective > most);
  known["improved"] = less ? 1 : 0;
  known["goes back"] = much ? 1 : 0;
  if (less) known["least"] = objective;
  if (much) known["diverged"] = 1;
}

// The copy is a step that is always done: the bytes that it moves are then known before the run.
void BestIterate::look(const expressions::Scalar& objective, const expressions::Array& x) {
  on_.then(objective, judge);
  best_ = where(improved_, x, best_);
}

}  // namespace halocline
