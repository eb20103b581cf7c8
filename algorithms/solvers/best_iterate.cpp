#include "algorithms/solvers/best_iterate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

constexpr const char *improved = "improved", *at_nothing = "value at 0";

}  // namespace

BestIterate::BestIterate(Program& program) {
  declare(program, {volume_array("best", Lifetime::state)});
  program.scalars["least"] = std::numeric_limits<double>::infinity();
  for (const char* name : {"goes back", "diverged", at_nothing, improved}) program.scalars[name] = 0;
}

Step BestIterate::at_zero(const VectorSteps& vectors, const std::string& w) {
  const auto take = [](double sum, Scalars& known) { known[at_nothing] = sum / 2; };
  return w.empty() ? vectors.dot(Domain::views, "b", "b", take) : vectors.dot(Domain::views, "b", "b", w, take);
}

void BestIterate::judge(double value, Scalars& known) {
  const bool less = value < known.at("least");
  const double most = std::max(too_much * known.at("least"), small * known.at(at_nothing));
  const bool much = !less && (!std::isfinite(value) || value > most);
  known[improved] = less ? 1 : 0;
  known["goes back"] = much ? 1 : 0;
  if (less) known["least"] = value;
  if (much) known["diverged"] = 1;
}

// A step that is always done: the bytes that it moves are then known before the run.
Step BestIterate::keep(const VectorSteps& vectors) const {
  return vectors.choose(
      Domain::slices, [](const Scalars& known) { return known.at(improved); }, "x", "best");
}

Step BestIterate::restore(const VectorSteps& vectors) const {
  return vectors.scale(Domain::slices, 1, "best", "x");
}

}  // namespace halocline
