#include "algorithms/denoise/denoise_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "algorithms/denoise/denoise_parameters.hpp"
#include "algorithms/denoise/denoise_warnings.hpp"
#include "algorithms/denoise/frames.hpp"
#include "algorithms/denoise/fused_form.hpp"
#include "algorithms/denoise/parameter_choice.hpp"
#include "algorithms/denoise/weight_statistics.hpp"
#include "algorithms/denoisers/recorded_reduction.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "algorithms/support/check_input.hpp"
#include "algorithms/support/norm.hpp"
#include "host/system/error.hpp"
#include "host/volume/voxel_work.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_judged_voxels = 256 * 256 * 256;

// Step, epsilon and target of the descent. A tenth of the noise a step makes some 30 iterations; an epsilon well below
// the differences that noise makes leaves the total variation what it is, and one not far below keeps the descent
// smooth.
void set_descent(const Grid& grid, const NoiseEstimate& noise, const DenoiseParameters& parameters,
                 MethodParameters& method, std::string& choice) {
  const auto count = static_cast<double>(grid.count());
  const auto rms = [&](double fidelity) { return fidelity / std::sqrt(count); };
  if (!(noise.sigma > 0) && !parameters.step)
    throw InputError("no noise can be measured in the volume, so there is nothing to choose the step by: give `step`");
  const double scale = noise.sigma > 0 ? noise.sigma : 10 * *parameters.step;
  method.step = parameters.step.value_or(0.1 * scale);
  method.epsilon = 0.05 * scale / coarsest_spacing(grid.size, grid.spacing);
  if (parameters.target_fidelity) {
    method.target_rms = rms(*parameters.target_fidelity);
    choice = fmt::format("||u - f|| = {:.4g}, as given", *parameters.target_fidelity);
  } else if (!parameters.step) {
    method.target_rms = noise.sigma * std::sqrt(noise.active_fraction);
    choice = fmt::format("||u - f|| = {:.4g}, of a noise of {:.4g}", method.target_rms * std::sqrt(count), noise.sigma);
  } else {
    choice = "iterations alone";
  }
}

// The regulariser as the iterations take it: for grey values less `offset`.
Regulariser used_regulariser(Regulariser regulariser, double offset, const Volume* reference,
                             const std::array<double, 3>& spacing) {
  regulariser.minimum -= offset;
  regulariser.maximum -= offset;
  if (reference != nullptr) regulariser.reference_eta = reference_eta(*reference, spacing, regulariser.reference_eta);
  return regulariser;
}

// Adding the offset again may have rounded values out of the box.
class BoundedSink : public VolumeSink {
 public:
  BoundedSink(VolumeSink& sink, const Regulariser& regulariser)
      : sink_(sink),
        minimum_(static_cast<float>(regulariser.minimum)),
        maximum_(static_cast<float>(regulariser.maximum)) {}
  const Grid& grid() const override { return sink_.grid(); }
  void begin() override { sink_.begin(); }
  void write(std::size_t first, std::size_t count, float* from) override {
    for (std::size_t n = 0; n < count; ++n) from[n] = std::min(std::max(from[n], minimum_), maximum_);
    sink_.write(first, count, from);
  }
  float* data() override { return sink_.data(); }
  VoxelRange voxels_on(const Device& device) const override { return sink_.voxels_on(device); }
  void take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                 const VoxelWork& then) override {
    sink_.take_from(from, first, count, waits,
                    in_turn(then, [this](const DevicePlace& at, std::size_t voxels, const Event& after) {
                      return clamp_on_device(at, voxels, minimum_, maximum_, after);
                    }));
  }
  bool on_devices() const override { return sink_.on_devices(); }
  std::size_t bus_bytes() const override { return sink_.bus_bytes(); }

 private:
  VolumeSink& sink_;
  float minimum_, maximum_;
};

Volume shifted_by(Volume volume, float shift) {
  for (float& voxel : volume.voxels) voxel += shift;
  return volume;
}

// Options of the run itself: for grey values less `offset`.
RunOptions shifted_options(const RunOptions& given, const DenoiseMethod& method, const Volume* init, float offset) {
  RunOptions options = given;
  if (init != nullptr)
    for (const auto& name : method.image_arrays()) options.initial[name] = init;
  if (given.stage_output)
    options.stage_output = [&given, offset](int stage, const Volume& output) {
      given.stage_output(stage, shifted_by(output, offset));
    };
  return options;
}

// Throws if the start is so far from the volume that float32 does not hold the squares of differences.
void check_start(const Volume& start, const VolumeSample& volume) {
  const VolumeSample sample = sample_volume(MemorySource(start));
  const double away = std::hypot(sample.spread, sample.mean - volume.mean);
  if (!(away <= most_spread))
    throw InputError(
        fmt::format("`init`: the grey values lie {:.3g} from the mean of the volume's; float32 arithmetic takes at "
                    "most {:g}: give an image like the volume",
                    away, most_spread));
}

bool is_constant(const VolumeSource& volume) {
  const auto [least, greatest] = value_range(volume);
  return least == greatest;
}

void take_result(const DenoiseMethod& method, const MethodParameters& used, RunResult&& run, DenoiseResult& result) {
  const auto& last = method.history().back();
  result.iterations = run.iterations;
  result.relative_gap = last.relative_gap;
  result.gap = last.gap;
  result.primal = last.primal;
  result.dual = last.dual;
  result.fidelity = last.fidelity;
  result.truth_rmse = last.truth_rmse;
  result.truth_relative = last.truth_relative;
  result.converged = method.converged();
  result.stalled = method.stalled();
  result.stopped_by = run.stopped_by;
  result.history = method.history();
  result.step = used.step;
  result.plan = std::move(run.plan);
  result.seconds = run.seconds;
  result.peak_bytes = run.peak_bytes;
  result.bus_bytes = run.bus_bytes;
  result.rank_bytes = run.rank_bytes;
}

}  // namespace

DenoiseJob::DenoiseJob(const VolumeSource& f, const VolumeSource* weights, const DenoiseParameters& parameters,
                       const std::vector<Device>& devices, const Volume* reference)
    : f_(f),
      weights_(weights),
      reference_(reference),
      parameters_(parameters),
      devices_(devices),
      grid_(f.grid()),
      frames_(parameters.method == "pdu4d"),
      watched_input_(f) {}

DenoiseResult DenoiseJob::run(VolumeSink& output, const RunOptions& options) {
  check();
  method_ = method_parameters(grid_, parameters_);
  normalise_weights();
  centre();
  judge_noise();
  choose();
  part_ = weight_part_ = reference_part_ = Volume();
  RunOptions planned = options;
  planned.planned = choose_form(options);
  iterate(output, planned);
  return std::move(result_);
}

void DenoiseJob::check() {
  check_grid(grid_, "the volume");
  for (const auto& [volume, name] : {std::pair{parameters_.init, "`init`"},
                                     {parameters_.half_a, "`half_a`"},
                                     {parameters_.half_b, "`half_b`"},
                                     {parameters_.truth, "`truth`"},
                                     {reference_, "`reference`"}})
    if (volume != nullptr) check_volume(*volume, name);
  if (parameters_.regulariser.guided && reference_ == nullptr)
    throw InputError("directional total variation goes by a `reference`, and none was given");
  parameters_.regulariser.guided = reference_ != nullptr;
  parameters_.statistical = descends(parameters_) && weights_ != nullptr;
  parameters_.compared = parameters_.truth != nullptr;
  check_denoise_parameters(parameters_);
  parameters_.regulariser = within_float32(parameters_.regulariser);
  if (reference_ != nullptr) require_same_grid(grid_, "the volume", reference_->grid, "`reference`");
  if (parameters_.compared) {
    require_same_grid(grid_, "the volume", parameters_.truth->grid, "`truth`");
    truth_norm_ = norm_of(MemorySource(*parameters_.truth));
    result_.truth_maximum = value_range(MemorySource(*parameters_.truth)).greatest;
  }
  weighted_ = parameters_.method == "spdu" || parameters_.statistical;
  variances_ = weights_ != nullptr && !weighted_;
  if (weighted_ && weights_ == nullptr)
    throw InputError(
        "`method = spdu` needs `weights`, the noise variance at every voxel (make it with `FdkParameters::variance`)");
  if (weights_ != nullptr) check_use_of_weights(parameters_, parameters_.half_a != nullptr);
  if (parameters_.time.weight && !frames_ && grid_.size[2] == 1)
    throw InputError("`time`: the volume has one slice, and one frame can be made like no other; leave it out");
}

void DenoiseJob::normalise_weights() {
  if (weights_ == nullptr) return;
  require_same_grid(grid_, "the volume", weights_->grid(), "`weights`");
  const auto statistics = weight_statistics(*weights_);
  propagated_ = std::sqrt(statistics.mean);
  weights_ = &normalised_.emplace(*weights_, statistics.mean);
  if (!weighted_) return;
  method_.largest_weight = static_cast<float>(statistics.largest / statistics.mean);
  result_.weight_span = static_cast<double>(statistics.largest) / statistics.least;
}

void DenoiseJob::centre() {
  sample_ = sample_volume(f_);
  check_scale(sample_, "the volume");
  if (parameters_.init != nullptr) check_start(*parameters_.init, sample_);
  result_.spread = sample_.spread;
  offset_ = static_cast<float>(sample_.mean);
  centred_.emplace(watched_input_, offset_);
  method_.regulariser = used_regulariser(parameters_.regulariser, offset_, reference_, method_.spacing);
  result_.regulariser = parameters_.regulariser;
  result_.regulariser.reference_eta = method_.regulariser.reference_eta;
}

void DenoiseJob::judge_noise() {
  const bool given_all =
      parameters_.alpha || !method_.path.empty() || (is_filter(parameters_.method) && parameters_.method != "nlm");
  if (!given_all) estimate();
  constant_ = !given_all && !(noise_.sigma > 0) && parameters_.half_a == nullptr && is_constant(f_);
  if (constant_ && descends(parameters_) && !parameters_.step) parameters_.step = 1;
  warn_of_other_variances();
}

void DenoiseJob::estimate() {
  part_ = frames_ ? read_volume(*centred_) : central_part(*centred_, most_judged_voxels);
  part_.grid.spacing = method_.spacing;
  if (weights_ != nullptr) weight_part_ = central_part(*weights_, most_judged_voxels);
  if (reference_ != nullptr) reference_part_ = central_part(*reference_, most_judged_voxels);
  noise_ = frames_ ? estimate_noise_of_frames(part_, parameters_.time.depth).noise
                   : estimate_noise(part_, weights_ != nullptr ? &weight_part_ : nullptr);
  if (part_.grid.count() < grid_.count())  // masked background is at the rim
    noise_.active_fraction = std::min(noise_.active_fraction, sample_.active_fraction);
  result_.noise_sigma = noise_.sigma;
  // Weights may be in any unit; those that agree with what is seen in the volume are variances, and know better.
  agree_ = weights_ != nullptr && propagated_ < 2 * noise_.sigma && noise_.sigma < 2 * propagated_;
  if (!variances_ && !agree_)
    warn_of_few_places(noise_, frames_ ? frame_grid(part_.grid, parameters_.time.depth) : part_.grid, parameters_,
                       result_.warnings);
}

void DenoiseJob::warn_of_other_variances() {
  if (variances_ && !agree_ && !constant_ && !few_places(noise_, part_.grid))
    result_.warnings.push_back(fmt::format(
        "`weights` say that the noise is {:.3g}, and {:.3g} is seen in the volume; pdu takes them for variances in "
        "squared grey values: give those of this volume (`noise_map()` finds them), or `alpha` a number",
        propagated_, noise_.sigma));
}

void DenoiseJob::choose() {
  if (descends(parameters_))
    choose_descent();
  else if (is_filter(parameters_.method))
    choose_filter();
  else
    choose_lambda();
}

void DenoiseJob::choose_descent() {
  if (agree_) result_.noise_sigma = noise_.sigma = propagated_;
  set_descent(grid_, noise_, parameters_, method_, result_.alpha_choice);
  result_.epsilon = method_.epsilon;
  result_.target_fidelity = method_.target_rms * std::sqrt(static_cast<double>(grid_.count()));
}

void DenoiseJob::choose_filter() {
  method_.noise = constant_ ? 1 : noise_.sigma;
  if (constant_) result_.warnings.push_back(constant_warning);
  if (parameters_.method == "nlm" && !(method_.noise > 0))
    throw InputError("no noise can be measured in the volume, and nlm goes by it: choose another `method`");
}

void DenoiseJob::choose_lambda() {
  if (parameters_.alpha || !method_.path.empty()) {
    method_.lambda = parameters_.alpha ? 1 / *parameters_.alpha : method_.path.back();
    result_.alpha_choice = "given";
  } else if (constant_) {
    method_.lambda = 1;
    result_.alpha_choice = "any: the volume is constant";
    result_.rule_met = !parameters_.target_fidelity;
  } else {
    take_choice(make_choice());
  }
  result_.lambda = method_.lambda;
  result_.alpha = parameters_.alpha.value_or(1 / method_.lambda);
  if (result_.noise_sigma > 0)
    result_.alpha_sigma = result_.alpha * result_.noise_sigma * strength_spacing(grid_, parameters_);
}

ParameterChoice DenoiseJob::make_choice() {
  if (parameters_.chosen) return *parameters_.chosen;
  return frames_ ? choice_of_frames() : choice_by_rule();
}

ParameterChoice DenoiseJob::choice_of_frames() {
  if (parameters_.alpha_sigma) {
    if (!(noise_.sigma > 0))
      throw InputError("no noise can be measured in the frames, so `alpha` has no /sigma: give a number");
    return {strength_spacing(grid_, parameters_) / *parameters_.alpha_sigma * noise_.sigma,
            noise_.sigma,
            fmt::format("for a noise of {:.4g}", noise_.sigma),
            true,
            {}};
  }
  const auto found = with_failover(devices_, [&](const std::vector<Device>& working) {
    return choose_lambda_of_frames(part_, parameters_.time, parameters_.target_fidelity, working);
  });
  ParameterChoice strength{found.lambda, 0, found.how, found.warning.empty(), {}};
  if (!strength.met) strength.warnings.push_back(found.warning);
  return strength;
}

ParameterChoice DenoiseJob::choice_by_rule() {
  ParameterProblem problem;
  problem.method = parameters_.method;
  problem.parameters = method_;
  problem.parameters.compared = false;
  problem.inputs["f"] = &part_;
  if (weighted_) problem.inputs["w"] = &weight_part_;
  if (variances_) problem.variance = &weight_part_;
  if (reference_ != nullptr) problem.inputs["reference"] = &reference_part_;
  if (agree_ || variances_) problem.sigma = propagated_;
  problem.target_fidelity = parameters_.target_fidelity;
  problem.whole_voxels = grid_.count();
  if (parameters_.alpha_sigma)
    problem.lambda_by_noise = strength_spacing(grid_, parameters_) / *parameters_.alpha_sigma;
  Volume half_a, half_b;
  const auto part_of_half = [&](const Volume* half, const char* name, Volume& part) -> const Volume* {
    if (half == nullptr) return nullptr;
    require_same_grid(grid_, "the volume", half->grid, name);
    return &(part = central_part(*half, most_judged_voxels));
  };
  problem.half_a = part_of_half(parameters_.half_a, "`half_a`", half_a);
  problem.half_b = part_of_half(parameters_.half_b, "`half_b`", half_b);
  return with_failover(devices_, [&](const std::vector<Device>& working) {
    return choose_parameter(parameters_.strength, problem, working);
  });
}

void DenoiseJob::take_choice(const ParameterChoice& choice) {
  if (parameters_.alpha_sigma)
    check_alpha(fmt::format("`alpha_sigma = {}`", *parameters_.alpha_sigma), 1 / choice.lambda);
  if (parameters_.on_parameter_chosen) parameters_.on_parameter_chosen(choice);
  method_.lambda = choice.lambda;
  if (choice.sigma > 0) result_.noise_sigma = choice.sigma;
  result_.alpha_choice = choice.how;
  result_.rule_met = choice.met;
  result_.warnings.insert(result_.warnings.end(), choice.warnings.begin(), choice.warnings.end());
}

Plan DenoiseJob::choose_form(const RunOptions& options) {
  PlannedForm chosen = plan_form_of_run(devices_, grid_, parameters_, options.plan, options.planned);
  method_.fused = result_.form = chosen.form;
  const bool on_cpu =
      std::any_of(devices_.begin(), devices_.end(), [](const Device& device) { return device.info().cpu(); });
  if (result_.form.stages > 0 && on_cpu && (parameters_.stages || parameters_.dual_bits))
    result_.warnings.push_back(fmt::format(
        "{} takes kernels that are made for GPUs, and CPUs are many times slower with them; leave it out there",
        parameters_.stages && parameters_.dual_bits ? "`stages` with `dual_bits`"
        : parameters_.stages                        ? "`stages`"
                                                    : "`dual_bits`"));
  return std::move(chosen.plan);
}

void DenoiseJob::iterate(VolumeSink& output, const RunOptions& options) {
  const auto denoiser = make_denoiser(parameters_.method, method_);
  ProgramInputs inputs{{"f", &*centred_}};
  if (weighted_) inputs.emplace("w", weights_);
  std::optional<MemorySource> reference_source;
  if (reference_ != nullptr) inputs.emplace("reference", &reference_source.emplace(*reference_));
  Volume init;
  if (parameters_.init != nullptr) {
    require_same_grid(grid_, "the volume", parameters_.init->grid, "`init`");
    init = shifted_by(*parameters_.init, -offset_);
  }
  std::optional<MemorySource> truth_source;
  std::optional<ShiftedSource> truth;
  if (parameters_.truth != nullptr)
    inputs.emplace("truth", &truth.emplace(truth_source.emplace(*parameters_.truth), offset_));
  const RunOptions run_options =
      shifted_options(options, *denoiser, parameters_.init != nullptr ? &init : nullptr, offset_);
  WatchedSink watched_output(output);
  BoundedSink bounded(watched_output, parameters_.regulariser);
  ShiftedSink shifted(parameters_.regulariser.boxed() ? static_cast<VolumeSink&>(bounded) : watched_output, offset_);
  RecordedReduction recorded(*denoiser, method_, truth_norm_);
  take_result(*denoiser, method_, run_program(recorded.program(), inputs, shifted, devices_, run_options), result_);
  if (!method_.path.empty()) {
    result_.stages = denoiser->stages();
    result_.lambda = result_.stages.back().lambda;
    result_.alpha = parameters_.alpha_path[result_.stages.size() - 1];
  }
  const ValueRange read = range_of_all(result_.plan, watched_input_.range()),
                   written = range_of_all(result_.plan, watched_output.range());
  result_.largest = 0x1p24 * largest_rounding(read, 0);
  if (is_filter(parameters_.method))
    warn_of_filtered(read, written);
  else
    warn_of_result(read, written);
}

void DenoiseJob::warn_of_filtered(const ValueRange& input, const ValueRange& output) {
  if (constant_) return;
  // No filter sums up the change.
  const double change = std::numeric_limits<double>::infinity();
  const char* parameter = parameters_.method == "gaussian" ? "`sigma`"
                          : parameters_.method == "median" ? "`radius`"
                                                           : "`filter.strength`";
  std::string text =
      effect_warning(input, output, change, 0, {"", fmt::format("a smaller {} smooths less", parameter)});
  if (!text.empty()) result_.warnings.push_back(std::move(text));
}

void DenoiseJob::warn_of_result(const ValueRange& input, const ValueRange& output) {
  result_.rounding = largest_rounding(input, offset_);
  require_finite_result(parameters_, result_, output);
  if (!descends(parameters_))
    if (auto text = rounding_warning(output, offset_, grid_, method_, result_); !text.empty())
      result_.warnings.push_back(std::move(text));
  const auto rms_change = result_.fidelity / std::sqrt(static_cast<double>(grid_.count()));
  const auto warning = [&](double sigma) {
    return result_warning(input, output, parameters_, result_, rms_change, sigma);
  };
  std::string text = warning(result_.noise_sigma);
  // The noise was not needed so far; the warning needs it.
  if (!text.empty() && !(result_.noise_sigma > 0))
    text = warning(estimate_noise(central_part(*centred_, most_judged_voxels)).sigma);
  if (!text.empty()) result_.warnings.push_back(std::move(text));
}

}  // namespace halocline
