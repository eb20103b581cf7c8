#include "algorithms/solvers/penalised_steps.hpp"

#include <algorithm>

#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

using enum Domain;
constexpr double least_seen = 1e-2;  // of the mean

}  // namespace

void PenalisedSteps::declare(Program& program, bool weighted, bool given_start) {
  halocline::declare(program, {{.name = "x", .lifetime = Lifetime::output, .halo_inout = true},
                               volume_array("tau", Lifetime::state),
                               projection_array("b", Lifetime::input),
                               projection_array("p", Lifetime::iteration)});
  if (weighted) halocline::declare(program, {projection_array("w", Lifetime::input)});
  if (given_start) program.given = {"x"};
  program.scalars["mean"] = 0;
}

std::vector<Step> PenalisedSteps::start(const TvTerm& penalty, bool given_start) const {
  return {given_start ? vectors_.clamp({penalty.minimum(), penalty.maximum()}, "x")
                      : vectors_.set(slices, std::max(0.0, penalty.minimum()), "x"),
          penalty.start()};
}

std::vector<Step> PenalisedSteps::weighted_rows(const std::string& u) const {
  std::vector<Step> steps{vectors_.set(slices, 1, u), A_.project(u, "p")};
  append(steps, weigh(vectors_, weighted_, "p"));
  return steps;
}

std::vector<Step> PenalisedSteps::largest_of_subsets(const ViewSubsets& subsets, const std::string& u) const {
  std::vector<Step> steps{vectors_.set(slices, 0, "tau")};
  for (int s = 0; s < subsets.count(); ++s) {
    steps.push_back(A_.backproject("p", u));
    steps.back().views = [range = subsets.range(s)](const Scalars&) { return range; };
    steps.push_back(voxels("penalised_largest", {in(u), inout("tau")}, {}));
  }
  return steps;
}

Step PenalisedSteps::mean() const {
  const auto count = static_cast<double>(A_.volume().count());
  return vectors_.sum(slices, {"penalised.cl", "penalised_total", ""}, {"tau"},
                      [count](double sum, Scalars& known) { known["mean"] = sum / count; });
}

std::vector<Step> PenalisedSteps::invert(double scale) const {
  const auto least = [](const Scalars& known) {
    const double found = known.at("mean");
    return found > 0 ? least_seen * found : 1.0;
  };
  return {mean(), voxels("penalised_steps", {inout("tau")}, {scale, 0.0, least})};
}

std::vector<Step> PenalisedSteps::primal_steps(double scale) const {
  const auto more = [](const Scalars& known) {
    const double found = known.at("mean");
    return found > 0 ? found : 1.0;
  };
  return {mean(), voxels("penalised_steps", {inout("tau")}, {scale, more, 0.0})};
}

std::vector<ArrayAccess> PenalisedSteps::with_data(const std::vector<ArrayAccess>& more) const {
  std::vector<ArrayAccess> arrays{in("b")};
  if (weighted_) arrays.push_back(in("w"));
  arrays.insert(arrays.end(), more.begin(), more.end());
  return arrays;
}

Step PenalisedSteps::residual(double s, const std::string& p) const {
  return vectors_.elementwise(views, kernel("penalised_residual"), with_data({inout(p)}), {s});
}

Step PenalisedSteps::rays(Factor factor) const {
  return vectors_.elementwise(views, kernel("penalised_rays"), with_data({inout("r"), inout("p")}),
                              {std::move(factor)});
}

Step PenalisedSteps::voxels(const char* name, const std::vector<ArrayAccess>& arrays,
                            std::vector<Factor> factors) const {
  return vectors_.elementwise(slices, {"penalised.cl", name, ""}, arrays, std::move(factors));
}

}  // namespace halocline
