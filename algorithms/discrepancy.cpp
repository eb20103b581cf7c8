#include "algorithms/discrepancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/noise_estimate.hpp"
#include "algorithms/registry.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

// ||u - f|| as a function of lambda.
class Distance {
 public:
  Distance(const Volume& f, const Volume* weights, const Device& device, const Regulariser& regulariser,
           const Volume* reference)
      : f_(f), weights_(weights), devices_{device}, regulariser_(regulariser), reference_(reference) {}

  double operator()(double lambda) const {
    MethodParameters parameters;
    parameters.size = f_.grid.size;
    parameters.spacing = f_.grid.spacing;
    parameters.lambda = lambda;
    parameters.iterations = 300;
    parameters.gap = 3e-3;
    parameters.regulariser = regulariser_;
    std::map<std::string, const Volume*> inputs{{"f", &f_}};
    if (weights_ != nullptr) {
      inputs["w"] = weights_;
      parameters.largest_weight = *std::max_element(weights_->voxels.begin(), weights_->voxels.end());
    }
    if (reference_ != nullptr) inputs["reference"] = reference_;
    const auto method = make_denoiser(weights_ != nullptr ? "spdu" : "pdu", parameters);
    run_iterations(*method, inputs, f_.grid, devices_);
    return method->history().back().fidelity;
  }

 private:
  const Volume& f_;
  const Volume* weights_;
  std::vector<Device> devices_;
  const Regulariser& regulariser_;
  const Volume* reference_;
};

// Of the positive ones.
double mean_weight(const Volume& weights) {
  double sum = 0, count = 0;
  for (const float weight : weights.voxels) {
    sum += weight;
    count += weight > 0 ? 1 : 0;
  }
  return count > 0 ? sum / count : 1;
}

}  // namespace

double to_three_digits(double value) {
  return std::stod(fmt::format("{:.2e}", value));
}

std::string unreached_warning(const LambdaSolution& solution, double sigma, std::optional<double> target_fidelity) {
  const std::string target = target_fidelity ? fmt::format("--target-fidelity {:g} asks", *target_fidelity)
                                             : fmt::format("the estimated noise of {:.4g} says", sigma);
  const std::string remedy =
      target_fidelity ? "give another --target-fidelity, or --alpha a number" : "give --alpha a number";
  const double alpha = 1 / solution.lambda;
  return solution.flat
             ? fmt::format("no alpha takes away as much as {}: at {:.3g} the volume is as flat as it gets; {}", target,
                           alpha, remedy)
             : fmt::format("no alpha takes away as little as {}: of those tried {:.3g} comes nearest; {}", target,
                           alpha, remedy);
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
  // Where rounding makes the curve jump, neither side is near.
  return {to_three_digits(std::sqrt(low.lambda * high.lambda)), std::min(-low.error, high.error) < 0.1};
}

LambdaChoice choose_lambda(const Volume& f, const Volume* weights, std::optional<double> target_fidelity,
                           const std::vector<Device>& devices, std::optional<double> sigma,
                           std::optional<std::size_t> whole_voxels, const Regulariser& regulariser,
                           const Volume* reference) {
  const bool whole = f.grid.count() <= most_searched_voxels;
  const Volume part = whole ? Volume() : central_part(f, most_searched_voxels);
  const Volume weight_part = whole || weights == nullptr ? Volume() : central_part(*weights, most_searched_voxels);
  const Volume reference_part =
      whole || reference == nullptr ? Volume() : central_part(*reference, most_searched_voxels);
  const Volume& data = whole ? f : part;
  const Volume* variances = weights == nullptr ? nullptr : whole ? weights : &weight_part;
  auto noise = estimate_noise(data, variances);
  if (sigma) noise.sigma = *sigma;
  if (!(noise.sigma > 0) && !target_fidelity)
    throw InputError(
        "no noise can be measured in the volume, so there is nothing to choose alpha by: give --alpha a number");
  const auto count = static_cast<double>(data.grid.count());
  const auto whole_count = static_cast<double>(whole_voxels.value_or(f.grid.count()));
  const double target = target_fidelity ? *target_fidelity * std::sqrt(count / whole_count)
                                        : noise.sigma * std::sqrt((variances != nullptr ? mean_weight(*variances) : 1) *
                                                                  noise.active_fraction * count);
  const double rms = target / std::sqrt(count);
  const Distance distance(data, variances, devices.front(), regulariser,
                          reference == nullptr || whole ? reference : &reference_part);
  const auto solution = solve_for_lambda(distance, target, 0.7 * rms * typical_spacing(data.grid));
  LambdaChoice choice;
  choice.lambda = solution.lambda;
  choice.sigma = noise.sigma;
  choice.how = target_fidelity ? fmt::format("||u - f|| = {:.4g}", *target_fidelity)
                               : fmt::format("discrepancy principle with a noise of {:.4g}{}", noise.sigma,
                                             noise.correlated              ? ", which neighbours share"
                                             : sigma && weights != nullptr ? ", from the variances"
                                                                           : "");
  if (!whole)
    choice.how +=
        fmt::format(", on the central {} x {} x {} voxels", data.grid.size[0], data.grid.size[1], data.grid.size[2]);
  if (!solution.reached) {
    choice.how += " (not reached: the volume has too little structure, or another noise)";
    choice.warning = unreached_warning(solution, noise.sigma, target_fidelity);
  }
  return choice;
}

}  // namespace halocline
