#include "algorithms/denoise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/discrepancy.hpp"
#include "algorithms/noise_estimate.hpp"
#include "algorithms/registry.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

bool descends(const DenoiseParameters& parameters) {
  return parameters.method == "tvgd";
}

void require_positive(const char* option, std::optional<double> value) {
  if (value && !(*value > 0 && std::isfinite(*value)))
    throw InputError(fmt::format("{} is {}; expected a positive number", option, *value));
}

// Of the finite values. Four sums at a time: one alone would wait for its own last addition.
double mean(const Volume& volume) {
  std::array<double, 4> sums{}, counts{};
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) {
    const float value = volume.voxels[n];
    const bool finite = std::isfinite(value);
    sums[n % 4] += finite ? value : 0;
    counts[n % 4] += finite ? 1 : 0;
  }
  const double count = counts[0] + counts[1] + counts[2] + counts[3];
  return count > 0 ? (sums[0] + sums[1] + sums[2] + sums[3]) / count : 0;
}

void add(Volume& volume, double value) {
  for (auto& voxel : volume.voxels) voxel = static_cast<float>(voxel + value);
}

double coarsest_spacing(const Grid& grid) {
  double most = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (grid.size[axis] > 1) most = std::max(most, grid.spacing[axis]);
  return most > 0 ? most : 1;
}

// Step, epsilon and target of the descent. A tenth of the noise a step makes some 30 iterations; an epsilon well below
// the differences that noise makes leaves the total variation what it is, and one not far below keeps the descent
// smooth.
void set_descent(const Volume& f, const NoiseEstimate& noise, const DenoiseParameters& parameters,
                 MethodParameters& method, std::string& choice) {
  const auto count = static_cast<double>(f.grid.count());
  const auto rms = [&](double fidelity) { return fidelity / std::sqrt(count); };
  if (!(noise.sigma > 0) && !parameters.step)
    throw InputError("no noise can be measured in the volume, so there is nothing to choose the step by: give --step");
  const double scale = noise.sigma > 0 ? noise.sigma : 10 * *parameters.step;
  method.step = parameters.step.value_or(0.1 * scale);
  method.epsilon = 0.05 * scale / coarsest_spacing(f.grid);
  if (parameters.target_fidelity) {
    method.target_rms = rms(*parameters.target_fidelity);
    choice = "given ||u - f||";
  } else if (!parameters.step) {
    method.target_rms = noise.sigma * std::sqrt(noise.active_fraction);
    choice = fmt::format("||u - f|| of a noise of {:.4g}", noise.sigma);
  } else {
    choice = "iterations alone";
  }
}

MethodParameters common(const Grid& grid, const DenoiseParameters& parameters) {
  MethodParameters method;
  method.size = grid.size;
  method.spacing = grid.spacing;
  method.iterations = parameters.iterations;
  method.gap = parameters.gap;
  method.schedule = parameters.schedule;
  for (const double alpha : parameters.alpha_path) method.path.push_back(1 / alpha);
  return method;
}

// Options of the run itself: for grey values less `offset`.
RunOptions shifted_options(const RunOptions& given, const DenoiseMethod& method, const Volume* init, double offset) {
  RunOptions options = given;
  if (init != nullptr)
    for (const auto& name : method.image_arrays()) options.initial[name] = init;
  if (given.stage_output)
    options.stage_output = [&given, offset](int stage, const Volume& output) {
      Volume shifted = output;
      add(shifted, offset);
      given.stage_output(stage, shifted);
    };
  return options;
}

void take_result(const DenoiseMethod& method, const MethodParameters& used, RunResult&& run, DenoiseResult& result) {
  const auto& last = method.history().back();
  result.output = std::move(run.output);
  result.iterations = run.iterations;
  result.relative_gap = last.relative_gap;
  result.gap = last.gap;
  result.primal = last.primal;
  result.dual = last.dual;
  result.fidelity = last.fidelity;
  result.converged = method.converged();
  result.stalled = method.stalled();
  result.stopped_by = run.stopped_by;
  result.history = method.history();
  result.step = used.step;
  result.plan = std::move(run.plan);
  result.seconds = run.seconds;
  result.peak_bytes = run.peak_bytes;
  result.bus_bytes = run.bus_bytes;
}

void check_alpha_path(const DenoiseParameters& parameters) {
  constexpr std::size_t most_stages = 1000;
  const auto& path = parameters.alpha_path;
  if (path.empty()) return;
  for (const double alpha : path) require_positive("--alpha-path", alpha);
  if (path.size() > most_stages)
    throw InputError(fmt::format("--alpha-path has {} values; expected at most {}", path.size(), most_stages));
  if (descends(parameters)) throw InputError("--alpha-path belongs to the methods pdu and spdu; tvgd has no alpha");
  if (parameters.alpha || parameters.target_fidelity)
    throw InputError(fmt::format("--alpha-path and {} exclude each other: the path names every alpha",
                                 parameters.alpha ? "--alpha" : "--target-fidelity"));
}

}  // namespace

void check_denoise_parameters(const DenoiseParameters& parameters) {
  const auto names = denoiser_names();
  if (std::find(names.begin(), names.end(), parameters.method) == names.end())
    make_denoiser(parameters.method, {});  // throws with the list
  require_positive("--alpha", parameters.alpha);
  require_positive("--gap", parameters.gap);
  require_positive("--step", parameters.step);
  require_positive("--target-fidelity", parameters.target_fidelity);
  constexpr int most_iterations = 1000000;
  if (parameters.iterations < 1 || parameters.iterations > most_iterations)
    throw InputError(fmt::format("--iterations is {}; expected 1 to {}", parameters.iterations, most_iterations));
  check_alpha_path(parameters);
  if (descends(parameters) && parameters.alpha)
    throw InputError(
        "--alpha belongs to the methods pdu and spdu; tvgd takes --step, --iterations and --target-fidelity");
  if (!descends(parameters) && parameters.step)
    throw InputError(fmt::format("--step belongs to the method tvgd; {} takes --alpha", parameters.method));
  if (!descends(parameters) && parameters.alpha && parameters.target_fidelity)
    throw InputError("--alpha and --target-fidelity exclude each other: alpha is chosen to meet the target");
}

double mean_variance(const Volume& weights) {
  double sum = 0;
  std::size_t positive = 0;
  for (std::size_t n = 0; n < weights.voxels.size(); ++n) {
    const float weight = weights.voxels[n];
    if (!(weight >= 0) || !std::isfinite(weight))
      throw InputError(fmt::format(
          "--weights: the variance at voxel ({}, {}, {}) is {}; expected finite values, positive or 0 (0: seen by no "
          "view)",
          n % weights.grid.size[0], n / weights.grid.size[0] % weights.grid.size[1], n / weights.grid.slice(), weight));
    if (weight > 0) {
      sum += weight;
      ++positive;
    }
  }
  if (positive == 0) throw InputError("--weights: the variances are all 0; expected positive ones");
  return sum / static_cast<double>(positive);
}

Volume normalised_weights(const Volume& weights) {
  const double mean_weight = mean_variance(weights);
  Volume result = weights;
  for (auto& weight : result.voxels) weight = static_cast<float>(weight / mean_weight);
  return result;
}

DenoiseResult denoise(const Volume& f, const Volume* weights, const DenoiseParameters& parameters,
                      const std::vector<Device>& devices, const RunOptions& options) {
  check_denoise_parameters(parameters);
  const bool weighted = parameters.method == "spdu";
  if (weighted && weights == nullptr)
    throw InputError(
        "--method spdu needs --weights, the noise variance at every voxel (make it with halocline fdk --variance-out)");
  if (!weighted && weights != nullptr)
    throw InputError(fmt::format("--weights belongs to the method spdu; {} takes none", parameters.method));
  Volume normalised;
  double propagated = 0;  // the noise that the weights, taken for variances, say
  if (weighted) {
    require_same_grid(f.grid, "the volume", weights->grid, "--weights");
    propagated = std::sqrt(mean_variance(*weights));
    normalised = normalised_weights(*weights);
    weights = &normalised;
  }

  DenoiseResult result;
  const double offset = mean(f);
  Volume centred = f;
  add(centred, -offset);
  const auto noise = estimate_noise(centred, weights);
  result.noise_sigma = noise.sigma;
  MethodParameters method = common(f.grid, parameters);
  if (weighted) method.largest_weight = *std::max_element(weights->voxels.begin(), weights->voxels.end());
  if (descends(parameters)) {
    set_descent(centred, noise, parameters, method, result.alpha_choice);
    result.epsilon = method.epsilon;
    result.target_fidelity = method.target_rms * std::sqrt(static_cast<double>(f.grid.count()));
  } else {
    if (parameters.alpha || !method.path.empty()) {
      method.lambda = parameters.alpha ? 1 / *parameters.alpha : method.path.back();
      result.alpha_choice = "given";
    } else {
      // Weights may be in any unit; those that agree with what is seen in the volume are variances, and know better.
      const bool agree = weighted && propagated < 2 * noise.sigma && noise.sigma < 2 * propagated;
      if (agree) result.noise_sigma = propagated;
      const auto choice = choose_lambda(centred, weights, parameters.target_fidelity, devices,
                                        agree ? std::optional(propagated) : std::nullopt);
      method.lambda = choice.lambda;
      result.alpha_choice = choice.how;
    }
    result.lambda = method.lambda;
    result.alpha = parameters.alpha.value_or(1 / method.lambda);
  }

  const auto denoiser = make_denoiser(parameters.method, method);
  std::map<std::string, const Volume*> inputs{{"f", &centred}};
  if (weighted) inputs["w"] = weights;
  Volume init;
  if (parameters.init != nullptr) {
    require_same_grid(f.grid, "the volume", parameters.init->grid, "--init");
    init = *parameters.init;
    add(init, -offset);
  }
  const RunOptions run_options =
      shifted_options(options, *denoiser, parameters.init != nullptr ? &init : nullptr, offset);
  take_result(*denoiser, method, run_iterations(*denoiser, inputs, f.grid, devices, run_options), result);
  if (!method.path.empty()) {
    result.stages = denoiser->stages();
    result.lambda = result.stages.back().lambda;
    result.alpha = parameters.alpha_path[result.stages.size() - 1];
  }
  add(result.output, offset);
  return result;
}

Plan plan_denoise(const Grid& grid, const DenoiseParameters& parameters, std::span<const DeviceBudget> devices,
                  const PlanOptions& options) {
  check_denoise_parameters(parameters);
  return make_plan(requirements_with_reductions(*make_denoiser(parameters.method, common(grid, parameters))), devices,
                   options);
}

}  // namespace halocline
