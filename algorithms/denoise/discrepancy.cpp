#include "algorithms/denoise/discrepancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "algorithms/denoisers/registry.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"

namespace halocline {
namespace {

struct LambdaSolution {
  double lambda = 0;
  bool reached = false;  // false: no lambda has that distance, and this one is nearest
  bool flat = false;     // the reason is that a flat image is not so far away
};

// distance(lambda) = target, where distance grows with lambda until the image is flat; from `start`, to three digits.
LambdaSolution solve_for_lambda(const std::function<double(double)>& distance, double target, double start) {
  struct Point {
    double lambda, error;  // error: log(distance / target)
  };
  const auto at = [&](double lambda) {
    const double d = distance(lambda);
    return Point{lambda, d > 0 ? std::log(d / target) : -50.0};
  };
  Point low = at(start), high = low;
  for (int n = 0; n < 8 && high.error < 0; ++n) low = high, high = at(4 * high.lambda);
  if (high.error < 0) return {to_three_digits(high.lambda), false, true};
  for (int n = 0; n < 12 && low.error > 0; ++n) high = low, low = at(low.lambda / 4);
  if (low.error > 0) return {to_three_digits(low.lambda), false};
  // The curve bends: halfway between the secant's point and the middle is safe from creeping.
  for (int n = 0; n < 12 && high.lambda > 1.01 * low.lambda; ++n) {
    const double secant = low.error < high.error ? -low.error / (high.error - low.error) : 0.5;
    const double share = 0.75 * secant + 0.125;
    const Point middle = at(low.lambda * std::pow(high.lambda / low.lambda, share));
    if (std::abs(middle.error) < 1e-3) return {to_three_digits(middle.lambda), true};
    (middle.error < 0 ? low : high) = middle;
  }
  // Neither side is near where rounding makes the curve jump.
  return {to_three_digits(std::sqrt(low.lambda * high.lambda)), std::min(-low.error, high.error) < 0.1};
}

// The distance is that of a noise of `sigma`, or target_fidelity.
std::string unreached_warning(const LambdaSolution& solution, double sigma, std::optional<double> target_fidelity) {
  const std::string target = target_fidelity ? fmt::format("`target_fidelity` {:g} asks", *target_fidelity)
                                             : fmt::format("the estimated noise of {:.4g} says", sigma);
  const std::string remedy =
      target_fidelity ? "give another `target_fidelity`, or `alpha` a number" : "give `alpha` a number";
  const double alpha = 1 / solution.lambda;
  return solution.flat
             ? fmt::format("no alpha takes away as much as {}: at {:.3g} the volume is as flat as it gets; {}", target,
                           alpha, remedy)
             : fmt::format("no alpha takes away as little as {}: of those tried {:.3g} comes nearest; {}", target,
                           alpha, remedy);
}

}  // namespace

double to_three_digits(double value) {
  return std::stod(fmt::format("{:.2e}", value));
}

double typical_spacing(const Grid& grid) {
  double sum = 0;
  int axes = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (grid.size[axis] < 2) continue;
    sum += 1 / (grid.spacing[axis] * grid.spacing[axis]);
    ++axes;
  }
  return axes > 0 ? std::sqrt(axes / sum) : 1;
}

LambdaChoice choose_lambda(DiscrepancyProblem problem, const Device& device) {
  if (!(problem.sigma > 0) && !problem.target_fidelity)
    throw InputError(
        fmt::format("no noise can be measured in the {}, so there is nothing to choose alpha by: give `alpha` a number",
                    problem.object));
  const Grid& grid = problem.inputs.at("f")->grid;
  const auto count = static_cast<double>(grid.count());
  const double rms = problem.target_fidelity
                         ? *problem.target_fidelity / std::sqrt(static_cast<double>(problem.whole_voxels))
                         : problem.sigma * std::sqrt(problem.variance);
  problem.parameters.iterations = 300;
  problem.parameters.gap = 3e-3;
  const auto distance = [&](double lambda) {
    problem.parameters.lambda = lambda;
    const auto method = make_denoiser(problem.method, problem.parameters);
    run_program(method->program(), problem.inputs, grid, {device});
    return method->history().back().fidelity;
  };
  const auto solution = solve_for_lambda(distance, rms * std::sqrt(count), 0.7 * rms * problem.spacing);
  LambdaChoice choice;
  choice.lambda = solution.lambda;
  choice.sigma = problem.sigma;
  choice.how = (problem.target_fidelity
                    ? fmt::format("||u - f|| = {:.4g}", *problem.target_fidelity)
                    : fmt::format("discrepancy principle with a noise of {:.4g}{}", problem.sigma, problem.noise)) +
               problem.part;
  if (!solution.reached) {
    choice.how += fmt::format(" (not reached: too little structure in the {}, or another noise)", problem.object);
    choice.warning = unreached_warning(solution, problem.sigma, problem.target_fidelity);
  }
  return choice;
}

}  // namespace halocline
