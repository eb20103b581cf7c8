#include "algorithms/solvers/cgls.hpp"

#include <cmath>

#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {
namespace {

// a / b, and 0 where the iteration has arrived.
double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

double step_length(const Scalars& scalars) {
  return ratio(scalars.at("gamma"), scalars.at("qq"));
}

}  // namespace

Program cgls(const RayOperator& A, const CglsParameters& parameters) {
  constexpr auto volume = ArrayKind::volume, projections = ArrayKind::projections;
  constexpr auto slices = Domain::slices, views = Domain::views;
  Program program = A.program("cgls");
  program.needs.arrays.insert(program.needs.arrays.end(),
                              {{.name = "x", .kind = volume, .lifetime = Lifetime::output},
                               {.name = "p", .kind = volume, .lifetime = Lifetime::state},
                               {.name = "e", .kind = volume, .lifetime = Lifetime::state},  // the first gradient, unit
                               {.name = "s", .kind = volume, .lifetime = Lifetime::iteration},
                               {.name = "b", .kind = projections, .lifetime = Lifetime::input},
                               {.name = "r", .kind = projections, .lifetime = Lifetime::state},
                               {.name = "q", .kind = projections, .lifetime = Lifetime::iteration}});
  program.needs.iterations = parameters.iterations;
  program.scalars = {{"gamma", 0}, {"start", 0}, {"beta", 0}, {"qq", 0}, {"es", 0}, {"residual", 0}, {"gradient", 0}};
  const VectorSteps vectors(program);
  const auto begin = [](double sum, Scalars& known) { known["gamma"] = known["start"] = sum; };
  const auto go_on = [](double sum, Scalars& known) {
    known["beta"] = ratio(sum, known["gamma"]);
    known["gamma"] = sum;
    known["gradient"] = std::sqrt(sum);
  };
  const auto minus_length = [](const Scalars& known) { return -step_length(known); };
  program.first = {vectors.scale(views, 1, "b", "r"),
                   A.backproject("r", "s"),
                   vectors.dot(slices, "s", "s", begin),
                   vectors.scale(slices, 1, "s", "p"),
                   vectors.scale(
                       slices, [](const Scalars& known) { return ratio(1, std::sqrt(known.at("gamma"))); }, "s", "e"),
                   vectors.set(slices, 0, "x")};
  program.each = {A.project("p", "q"),
                  vectors.dot(views, "q", "q", [](double sum, Scalars& known) { known["qq"] = sum; }),
                  vectors.combine(slices, step_length, "p", 1, "x"),
                  vectors.combine(views, minus_length, "q", 1, "r"),
                  vectors.dot(views, "r", "r", [](double sum, Scalars& known) { known["residual"] = std::sqrt(sum); }),
                  A.backproject("r", "s"),
                  vectors.dot(slices, "e", "s", [](double sum, Scalars& known) { known["es"] = sum; }),
                  vectors.combine(
                      slices, [](const Scalars& known) { return -known.at("es"); }, "e", 1, "s"),
                  vectors.dot(slices, "s", "s", go_on),
                  vectors.combine(
                      slices, 1, "s", [](const Scalars& known) { return known.at("beta"); }, "p")};
  program.ends = [limit = parameters.tolerance](int, const Scalars& known) {
    return known.at("gamma") <= limit * limit * known.at("start");
  };
  return program;
}

}  // namespace halocline
