#include "algorithms/denoise/denoise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "algorithms/denoise/frames.hpp"
#include "algorithms/denoise/parameter_choice.hpp"
#include "algorithms/denoisers/fused_variants.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "algorithms/noise/noise_estimate.hpp"
#include "algorithms/support/require_positive.hpp"
#include "algorithms/support/volume_sample.hpp"
#include "algorithms/tuning/form_trial.hpp"
#include "algorithms/tuning/tune.hpp"
#include "algorithms/validation/check_input.hpp"
#include "host/device_array.hpp"
#include "host/error.hpp"
#include "host/thread_pool.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_judged_voxels = 256 * 256 * 256;

struct WeightStatistics {
  double mean = 0;  // all of the positive ones
  float least = 0, largest = 0;
};

bool descends(const DenoiseParameters& parameters) {
  return parameters.method == "tvgd";
}

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

MethodParameters common(const Grid& grid, const DenoiseParameters& parameters) {
  MethodParameters method;
  method.size = grid.size;
  method.spacing = grid.spacing;
  method.iterations = parameters.iterations;
  method.gap = parameters.gap > 0 ? parameters.gap : -1;  // without a target the certificate of the end is enough
  method.schedule = parameters.schedule;
  method.adaptive_delta = parameters.adaptive_delta;
  method.statistical = parameters.statistical;
  method.regulariser = parameters.regulariser;
  method.filter = parameters.filter;
  method.weight_bits = parameters.weight_bits;
  method.time = parameters.time;
  if (parameters.time.weight && parameters.method != "pdu4d") method.spacing[2] = *parameters.time.weight;
  for (const double alpha : parameters.alpha_path) method.path.push_back(1 / alpha);
  return method;
}

// The regulariser as the iterations take it: for grey values less `offset`.
Regulariser used_regulariser(Regulariser regulariser, double offset, const Volume* reference,
                             const std::array<double, 3>& spacing) {
  regulariser.minimum -= offset;
  regulariser.maximum -= offset;
  if (reference != nullptr) regulariser.reference_eta = reference_eta(*reference, spacing, regulariser.reference_eta);
  return regulariser;
}

// The box with bounds that float32 has: results are such numbers, and none of them may lie outside.
Regulariser within_float32(Regulariser regulariser) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto round = [](double bound, float towards) {
    const auto nearest = static_cast<float>(bound);
    const bool outside = towards > 0 ? nearest < bound : nearest > bound;
    return static_cast<double>(outside ? std::nextafter(nearest, towards) : nearest);
  };
  const Regulariser asked = regulariser;
  regulariser.minimum = round(asked.minimum, infinity);
  regulariser.maximum = round(asked.maximum, -infinity);
  if (regulariser.minimum > regulariser.maximum && asked.minimum <= asked.maximum)
    throw InputError(fmt::format("`minimum` {} and `maximum` {}: no number of float32 lies between them", asked.minimum,
                                 asked.maximum));
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

 private:
  VolumeSink& sink_;
  float minimum_, maximum_;
};

bool fuses(const DenoiseParameters& parameters) {
  const bool primal_dual = parameters.method == "pdu" || parameters.method == "spdu";
  return primal_dual && is_dimensionless(parameters.schedule) && parameters.regulariser.plain();
}

// The fastest form takes twice the memory or so: not where it would have to be streamed, and the one in place would
// stay, unless that takes longer all the same.
FusedForm form_for(const Grid& grid, const DenoiseParameters& parameters, FusedForm fastest,
                   std::span<const DeviceModel> devices, const PlanOptions& options) {
  if (!fuses(parameters)) return {};
  FusedForm form = fastest;
  if (parameters.stages) form.stages = *parameters.stages;
  if (parameters.dual_bits) form.dual_bits = *parameters.dual_bits;
  if (form.stages == 0 && form.dual_bits != 32) form.stages = 1;
  if (parameters.stages && *parameters.stages == 0) return {};
  if (parameters.stages || parameters.dual_bits || form.stages == 0) return form;
  MethodParameters method = common(grid, parameters);
  PlanOptions staying = options;
  staying.may_stream = false;
  const auto plan = [&](FusedForm each, const PlanOptions& how) {
    method.fused = each;
    return make_plan(requirements_with_reductions(*make_denoiser(parameters.method, method)), devices, how);
  };
  try {
    if (plan(form, staying).resident || !plan({}, staying).resident) return form;
    return plan(form, options).seconds < plan({}, options).seconds ? form : FusedForm{};
  } catch (const PlanError&) {
    return {};
  }
}

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

// What tuning found, or what is known of devices like these; of others, by a trial if the work is worth its tenths of a
// second, which is then kept.
FusedForm fastest_form(const std::vector<Device>& devices, const Grid& grid, const DenoiseParameters& parameters) {
  if (const auto stages = tuned_stages(devices, parameters.method)) return {*stages, 32};
  if (const auto known = known_form(device_models(devices))) return *known;
  constexpr double worth_a_trial = 5e9;  // voxel-iterations: 464^3 voxels and more, as often as is usual
  constexpr double usual_iterations = 50;
  const double work = static_cast<double>(grid.count()) * std::min<double>(usual_iterations, parameters.iterations);
  if (!fuses(parameters) || parameters.stages || parameters.dual_bits || work < worth_a_trial) return {};
  return with_failover(devices, [&](const std::vector<Device>& working) {
    const auto trial = [&](const Device& device) {
      if (const auto known = known_form(device_models({device}))) return known->stages;
      return tried_form({device}, parameters.method == "spdu", grid.size).stages;
    };
    return FusedForm{tuned_or_tried_stages(working, parameters.method, trial), 32};
  });
}

// The form, if all devices have work-groups that are large enough for it and compute it rightly.
FusedForm form_on(const std::vector<Device>& devices, FusedForm form, const Grid& grid,
                  const DenoiseParameters& parameters) {
  for (const auto& device : devices)
    for (int stages = 1; stages <= form.stages; ++stages)
      if (!has_fused_tile(device.info(), stages, grid.size[0])) {
        if (parameters.stages || parameters.dual_bits)
          throw InputError(fmt::format("`stages = {}`: the work-groups of {} are too small; give fewer", form.stages,
                                       device.info().name));
        return {};
      }
  if (form.stages == 0) return form;
  const Variant variant = fused_variant(parameters.method == "spdu", form.stages);
  if (parameters.stages || parameters.dual_bits) {
    require_variant(variant, devices, parameters.stages ? fmt::format("`stages = {}`", form.stages) : "`dual_bits`");
  } else if (!variant_works(variant, devices, "two kernels in place do the iterations")) {
    return {};
  }
  return form;
}

FusedForm form_of_run(const std::vector<Device>& devices, const Grid& grid, const DenoiseParameters& parameters,
                      const PlanOptions& options) {
  const FusedForm fastest = fastest_form(devices, grid, parameters);
  return form_on(devices, form_for(grid, parameters, fastest, device_models(devices), options), grid, parameters);
}

Plan plan_with(FusedForm form, const Grid& grid, const DenoiseParameters& parameters,
               std::span<const DeviceModel> devices, const PlanOptions& options) {
  MethodParameters method = common(grid, parameters);
  method.fused = form;
  return make_plan(requirements_with_reductions(*make_denoiser(parameters.method, method)), devices, options);
}

// Nothing is far from the volume whose squares float32 does not hold.
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

// Of the pieces of an array whose voxels lie on devices; nothing where it has to be read.
std::optional<std::vector<RunSums>> sums_where_they_lie(const VolumeSource& weights) {
  const auto* array = dynamic_cast<const DistributedArray*>(&weights);
  if (array == nullptr) return std::nullopt;
  std::vector<VoxelRange> runs;
  for (std::size_t at = 0; at < weights.grid().count(); at += voxels_in_a_piece)
    runs.push_back({at, std::min(at + voxels_in_a_piece, weights.grid().count())});
  return array->sums_of_runs(runs);
}

// Looks at every weight: the mean, the least and the largest of the positive ones.
WeightStatistics weight_statistics(const VolumeSource& weights) {
  struct Piece {
    double sum = 0;
    std::size_t positive = 0, bad = 0;  // bad: how many were good before the first that is not; count if all are
    float least = std::numeric_limits<float>::infinity(), largest = 0, found = 0;
  };
  const Grid& grid = weights.grid();
  std::vector<Piece> pieces((grid.count() + voxels_in_a_piece - 1) / voxels_in_a_piece);
  const auto sums = sums_where_they_lie(weights);
  for (std::size_t n = 0; sums && n < pieces.size(); ++n) {
    const RunSums& run = (*sums)[n];
    const std::size_t first = n * voxels_in_a_piece, count = std::min(voxels_in_a_piece, grid.count() - first);
    pieces[n] = {run.sum,
                 static_cast<std::size_t>(run.positive),
                 run.bad < 0 ? count : static_cast<std::size_t>(run.bad),
                 static_cast<float>(run.least_positive),
                 static_cast<float>(run.largest),
                 0};
    if (pieces[n].bad < count) weights.read(first + pieces[n].bad, 1, &pieces[n].found);
  }
  if (!sums)
    parallel_ranges(grid.count(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
      UninitialisedVector<float> values(count);
      weights.read(first, count, values.data());
      Piece& piece = pieces[first / voxels_in_a_piece];
      for (; piece.bad < count; ++piece.bad) {
        const float weight = values[piece.bad];
        if (!(weight >= 0) || !std::isfinite(weight)) {
          piece.found = weight;
          return;
        }
        piece.sum += weight;
        piece.positive += weight > 0 ? 1 : 0;
        if (weight > 0) piece.least = std::min(piece.least, weight);
        piece.largest = std::max(piece.largest, weight);
      }
    });
  WeightStatistics result;
  result.least = std::numeric_limits<float>::infinity();
  double sum = 0;
  std::size_t positive = 0;
  for (std::size_t n = 0; n < pieces.size(); ++n) {  // in order, so that the sum depends on no thread
    const std::size_t first = n * voxels_in_a_piece, bad = first + pieces[n].bad;
    if (pieces[n].bad < std::min(voxels_in_a_piece, grid.count() - first))
      throw InputError(fmt::format(
          "`weights`: the variance at voxel ({}, {}, {}) is {}; expected finite values, positive or 0 (0: seen by no "
          "view)",
          bad % grid.size[0], bad / grid.size[0] % grid.size[1], bad / grid.slice(), pieces[n].found));
    sum += pieces[n].sum;
    positive += pieces[n].positive;
    result.least = std::min(result.least, pieces[n].least);
    result.largest = std::max(result.largest, pieces[n].largest);
  }
  if (positive == 0) throw InputError("`weights`: the variances are all 0; expected positive ones");
  result.mean = sum / static_cast<double>(positive);
  return result;
}

void take_result(const DenoiseMethod& method, const MethodParameters& used, RunResult&& run, DenoiseResult& result) {
  const auto& last = method.history().back();
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

// Two balls of 7^3 to 18^3 voxels were seen to have 1.1 to 3 times their noise, for edges fill them; from 20^3 on it
// was 1.4 times at most.
bool few_places(const NoiseEstimate& noise, const Grid& grid) {
  double enough = 1;
  for (const auto size : grid.size) enough *= size > 1 ? 17 : 1;
  return static_cast<double>(noise.places) < enough;
}

void warn_of_few_places(const NoiseEstimate& noise, const Grid& grid, const DenoiseParameters& parameters,
                        std::vector<std::string>& warnings) {
  const bool goes_by_it = !descends(parameters) || !parameters.step;
  if (!goes_by_it || parameters.target_fidelity || !(noise.sigma > 0) || !few_places(noise, grid)) return;
  warnings.push_back(
      fmt::format("the noise of {:.3g} was estimated at {} places only, too few to be sure of it; give {}", noise.sigma,
                  noise.places,
                  parameters.method == "nlm" ? "a `filter.strength` that suits"
                  : descends(parameters)     ? "`step` and `target_fidelity`"
                                             : "`alpha` a number"));
}

// Half a unit in the last place of the largest value that is calculated with.
double largest_rounding(const ValueRange& range, float offset) {
  return 0x1p-24 * std::max(std::abs(static_cast<double>(range.least) - offset),
                            std::abs(static_cast<double>(range.greatest) - offset));
}

// Of one number of float32 to the next, at the largest of these.
double float32_step(const ValueRange& range) {
  const float largest = std::max(std::abs(range.least), std::abs(range.greatest));
  return std::nextafter(largest, std::numeric_limits<float>::infinity()) - largest;
}

// The certificate is of the result before the offset is added again, which rounds it: as noise of sd step / sqrt(12),
// whose total variation comes on top where the result is flat.
std::string rounding_warning(const ValueRange& output, double offset, const Grid& grid, const MethodParameters& method,
                             const DenoiseResult& result) {
  const double step = float32_step(output);
  double steepness = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (grid.size[axis] > 1) steepness += 2 / (method.spacing[axis] * method.spacing[axis]);
  double variation = step * std::sqrt(steepness / 12);  // a voxel's
  if (const auto delta = method.regulariser.huber_delta)
    variation = std::min(variation, variation * variation / (2 * *delta));
  const double rise = result.lambda * static_cast<double>(grid.count()) * variation;
  const bool matters =
      method.gap > 0 && result.primal > 0 && step > 4 * result.rounding && rise > result.relative_gap * result.primal;
  if (!matters) return {};
  return fmt::format(
      "the grey values lie about {:.3g}, where float32 has steps of {:.2g}: rounded to them, the file can have a "
      "relative gap of up to {:.2g} instead of {:.2g}; subtract an offset from the grey values, or give a larger `gap`",
      offset, step, result.relative_gap + rise / result.primal, result.relative_gap);
}

// Nothing has been committed yet.
void require_finite_result(const DenoiseParameters& parameters, const DenoiseResult& result, const ValueRange& output) {
  if (std::isfinite(result.fidelity) && std::isfinite(output.least) && std::isfinite(output.greatest)) return;
  if (descends(parameters))
    throw InputError(fmt::format(
        "`step`: with steps of {:g} the result left the range of float32 after {} iterations; give a smaller one",
        result.step, result.iterations));
  throw InputError(
      fmt::format("the result left the range of float32 after {} iterations with alpha {:.3g}; give {}another `alpha`, "
                  "or scale the volume's values to about 1",
                  result.iterations, result.alpha, parameters.method == "spdu" ? "`weights` that span less, " : ""));
}

EffectAdvice effect_advice(const DenoiseParameters& parameters, const DenoiseResult& result) {
  const bool cut = result.stopped_by == StoppedBy::time || result.stopped_by == StoppedBy::interrupt;
  if (cut && !result.converged) return {};  // it says nothing of the strength
  if (!descends(parameters)) {
    if (!result.rule_met) return {};  // there is nothing beyond
    return {fmt::format("an `alpha` below {:.4g} smooths more", result.alpha),
            fmt::format("an `alpha` above {:.4g} smooths less", result.alpha)};
  }
  if (result.step < result.rounding)
    return {fmt::format("steps of {:.3g} are lost in float32, which rounds these grey values by up to {:.3g}; give a "
                        "larger `step`",
                        result.step, result.rounding),
            ""};
  if (std::isfinite(result.target_fidelity))
    return {"a larger `target_fidelity` smooths more", "a smaller `target_fidelity` smooths less"};
  return {"a larger `step` or more `iterations` smooth more", "a smaller `step` or fewer `iterations` smooth less"};
}

// What there is to say of a result as a whole; empty: nothing. Total variation leaves a box alone that holds all
// values.
std::string result_warning(const ValueRange& input, const ValueRange& output, const DenoiseParameters& parameters,
                           const DenoiseResult& result, double rms_change, double noise) {
  const Regulariser& box = parameters.regulariser;
  const bool above = box.minimum > input.greatest;
  if (above || box.maximum < input.least)
    return fmt::format("{} {:g} leaves no value as it was: those of the volume lie between {:g} and {:g}",
                       above ? "`minimum`" : "`maximum`", above ? box.minimum : box.maximum, input.least,
                       input.greatest);
  const auto range = [](const ValueRange& values) { return static_cast<double>(values.greatest) - values.least; };
  if (descends(parameters) && range(input) > 0 && range(output) > 2 * range(input))
    return fmt::format(
        "the steps of {:.3g} overshoot: the grey values span {:.3g} after and {:.3g} before; give a smaller `step`",
        result.step, range(output), range(input));
  if (descends(parameters) && parameters.init != nullptr && result.iterations == 0 && result.converged &&
      std::isfinite(result.target_fidelity))
    return fmt::format(
        "`init` lies beyond the target already, at ||u - f|| = {:.4g} instead of {:.4g}, and is the result as it is; "
        "give a larger `target_fidelity`, or leave `init` out",
        result.fidelity, result.target_fidelity);
  return effect_warning(input, output, rms_change, noise, effect_advice(parameters, result));
}

bool gives_alpha(const DenoiseParameters& parameters) {
  return parameters.alpha || parameters.alpha_sigma;
}

// The h of alpha_sigma. A weight of time is not in it: it says how alike frames are made, not how smooth each is.
double strength_spacing(Grid grid, const DenoiseParameters& parameters) {
  const auto& time = parameters.time;
  if (!time.weight) return mean_spacing(grid);
  if (parameters.method == "pdu4d")
    grid = frame_grid(grid, time.depth);
  else
    grid.size[2] = 1;
  return grid.count() > 1 ? mean_spacing(grid) : *time.weight;
}

// 1 / alpha and its square must be float32 numbers.
void check_alpha(const std::string& parameter, const std::optional<double>& alpha) {
  constexpr double least = 1e-18, most = 1e18;
  if (alpha && !(*alpha >= least && *alpha <= most))
    throw InputError({.what = parameter,
                      .found = fmt::to_string(*alpha),
                      .expected = fmt::format("a number from {:g} to {:g}", least, most)});
}

void check_alpha_path(const DenoiseParameters& parameters) {
  constexpr std::size_t most_stages = 1000;
  const auto& path = parameters.alpha_path;
  if (path.empty()) return;
  for (const double alpha : path) check_alpha("`alpha_path`", alpha);
  if (path.size() > most_stages)
    throw InputError(fmt::format("`alpha_path` has {} values; expected at most {}", path.size(), most_stages));
  if (descends(parameters)) throw InputError("`alpha_path` belongs to the methods pdu and spdu; tvgd has no alpha");
  if (gives_alpha(parameters) || parameters.target_fidelity || parameters.strength != "auto")
    throw InputError(fmt::format("`alpha_path` and {} exclude each other: the path names every alpha",
                                 parameters.target_fidelity ? "`target_fidelity`"
                                 : parameters.alpha         ? "`alpha`"
                                 : parameters.alpha_sigma   ? "`alpha_sigma`"
                                                            : "`strength`"));
}

}  // namespace

const std::vector<std::string>& dual_names() {
  static const std::vector<std::string> names{"float32", "snorm16", "snorm8"};
  return names;
}

int dual_bits_named(const std::string& name) {
  return name == "float32" ? 32 : name == "snorm16" ? 16 : 8;
}

std::string own_options(const std::string& method) {
  if (is_filter(method)) return filter_options(method);
  return method == "tvgd" ? "`step`, `iterations` and `target_fidelity`" : "`alpha`";
}

void check_denoise_parameters(const DenoiseParameters& parameters) {
  const auto names = denoiser_names();
  if (std::find(names.begin(), names.end(), parameters.method) == names.end())
    make_denoiser(parameters.method, {});  // throws with the list
  check_alpha("`alpha`", parameters.alpha);
  if (parameters.alpha_sigma && !(*parameters.alpha_sigma > 0 && std::isfinite(*parameters.alpha_sigma)))
    throw InputError(
        {.what = "`alpha_sigma`", .found = fmt::to_string(*parameters.alpha_sigma), .expected = "a positive number"});
  if (parameters.alpha && parameters.alpha_sigma)
    throw InputError("`alpha` and `alpha_sigma` exclude each other; leave one of them out");
  if (!(parameters.gap >= 0 && parameters.gap < 1))
    throw InputError({.what = "`gap`",
                      .found = fmt::to_string(parameters.gap),
                      .expected = "a number below 1, as the gap is relative, or 0 for all of `iterations`"});
  require_positive("`step`", parameters.step);
  require_positive("`target_fidelity`", parameters.target_fidelity);
  require_positive("`adaptive_delta`", parameters.adaptive_delta);
  if (parameters.iterations < 1 || parameters.iterations > most_iterations)
    throw InputError({.what = "`iterations`",
                      .found = fmt::to_string(parameters.iterations),
                      .expected = fmt::format("1 to {}", most_iterations)});
  const bool filters = is_filter(parameters.method);
  if ((filters || parameters.method == "pdu4d") && (!parameters.alpha_path.empty() || parameters.init != nullptr))
    throw InputError(fmt::format("`alpha_path` and `init` do not go with `method = {}`", parameters.method));
  if ((descends(parameters) || filters) && gives_alpha(parameters))
    throw InputError(fmt::format("{} belongs to the methods pdu, spdu and pdu4d; {} takes {}",
                                 parameters.alpha ? "`alpha`" : "`alpha_sigma`", parameters.method,
                                 own_options(parameters.method)));
  check_alpha_path(parameters);
  if (!descends(parameters) && (parameters.step || parameters.adaptive_delta))
    throw InputError(fmt::format("{} belongs to the method tvgd; {} takes {}",
                                 parameters.step ? "`step`" : "`adaptive_delta`", parameters.method,
                                 own_options(parameters.method)));
  if (parameters.stages && (*parameters.stages < 0 || *parameters.stages > 4))
    throw InputError({.what = "`stages`", .found = fmt::to_string(*parameters.stages), .expected = "0 to 4"});
  if (parameters.dual_bits && *parameters.dual_bits != 32 && *parameters.dual_bits != 16 && *parameters.dual_bits != 8)
    throw InputError(fmt::format("`dual_bits` has {} bits; expected 32, 16 or 8", *parameters.dual_bits));
  if ((parameters.stages || parameters.dual_bits) && !fuses(parameters))
    throw InputError(
        "`stages` and `dual_bits` belong to the methods pdu and spdu with the schedules default or zhu-chan and plain "
        "total variation");
  if (parameters.stages && *parameters.stages == 0 && parameters.dual_bits && *parameters.dual_bits != 32)
    throw InputError(
        "`stages = 0`, the kernels in place, keep duals as float32; give `stages` 1 to 4 with other `dual_bits`");
  if (parameters.weight_bits != 32 && parameters.weight_bits != 16 && parameters.weight_bits != 8)
    throw InputError(
        {.what = "`weight_bits`", .found = fmt::to_string(parameters.weight_bits), .expected = "32, 16 or 8"});
  if (parameters.weight_bits != 32 && parameters.method != "spdu")
    throw InputError(
        fmt::format("`weight_bits` belongs to the method spdu; {} has no weights to store", parameters.method));
  if (filters && parameters.target_fidelity)
    throw InputError(fmt::format("`target_fidelity` belongs to the methods pdu, spdu, pdu4d and tvgd; {} takes {}",
                                 parameters.method, own_options(parameters.method)));
  const bool no_alpha = descends(parameters) || filters;
  if (parameters.strength != "auto" && (no_alpha || gives_alpha(parameters) || parameters.target_fidelity))
    throw InputError(fmt::format("`strength = {}`: {}", parameters.strength,
                                 no_alpha ? parameters.method + " takes no alpha"
                                          : "alpha is given or chosen to meet `target_fidelity` already"));
  if (parameters.method == "pdu4d" && (parameters.strength == "sure" || parameters.strength == "halves"))
    throw InputError(fmt::format(
        "`strength = {}` is a rule for pdu and spdu; pdu4d takes a number, discrepancy (which auto is, too) or target",
        parameters.strength));
  if (!descends(parameters) && gives_alpha(parameters) && parameters.target_fidelity)
    throw InputError("`alpha` and `target_fidelity` exclude each other: alpha is chosen to meet the target");
  check_regulariser(parameters.regulariser, parameters.method);
  check_filter_parameters(parameters.filter, parameters.method);
  check_time_axis(parameters.time, parameters.method);
}

void check_use_of_weights(const DenoiseParameters& parameters, bool halves) {
  const auto& method = parameters.method;
  if (method == "spdu" || descends(parameters)) return;
  if (method != "pdu")
    throw InputError(fmt::format("`weights` belongs to the methods spdu, tvgd and pdu; {} takes none", method));
  const bool by_halves = parameters.strength == "halves" || (parameters.strength == "auto" && halves);
  const char* otherwise = parameters.alpha                 ? "`alpha` is a number"
                          : !parameters.alpha_path.empty() ? "`alpha_path` names every alpha"
                          : parameters.target_fidelity     ? "`target_fidelity` says what alpha is to reach"
                          : by_halves                      ? "`alpha` goes by `half_a, half_b`"
                                                           : nullptr;
  if (otherwise != nullptr)
    throw InputError(fmt::format(
        "`weights` serves nothing here: pdu takes variances to choose alpha by, and {}; leave it out, or "
        "give `strength` sure or discrepancy{}, or weight the problem with it by `method = spdu`",
        otherwise, by_halves ? " (with weights from a file, leave `half_a, half_b` out)" : " or `alpha_sigma`"));
}

Volume normalised_weights(const Volume& weights) {
  const MemorySource source(weights);
  return read_volume(DividedSource(source, weight_statistics(source).mean));
}

DenoiseResult denoise(const Volume& f, const Volume* weights, const DenoiseParameters& parameters,
                      const std::vector<Device>& devices, const RunOptions& options, const Volume* reference) {
  check_volume(f, "the volume");
  const MemorySource source(f);
  std::optional<MemorySource> weight_source;
  if (weights != nullptr) {
    check_size(*weights, "`weights`");  // what they are is looked at as variances
    weight_source.emplace(*weights);
  }
  Volume output = Volume::uninitialised(f.grid);
  MemorySink sink(output);
  DenoiseResult result =
      denoise_into(source, weight_source ? &*weight_source : nullptr, sink, parameters, devices, options, reference);
  result.output = std::move(output);
  return result;
}

namespace {

DenoiseResult denoise_on(const VolumeSource& f, const VolumeSource* weights, VolumeSink& output,
                         const DenoiseParameters& given, const std::vector<Device>& devices, const RunOptions& options,
                         const Volume* reference) {
  DenoiseParameters parameters = given;
  check_grid(f.grid(), "the volume");
  for (const auto& [volume, name] : {std::pair{parameters.init, "`init`"},
                                     {parameters.half_a, "`half_a`"},
                                     {parameters.half_b, "`half_b`"},
                                     {reference, "`reference`"}})
    if (volume != nullptr) check_volume(*volume, name);
  if (parameters.regulariser.guided && reference == nullptr)
    throw InputError("directional total variation goes by a `reference`, and none was given");
  parameters.regulariser.guided = reference != nullptr;
  parameters.statistical = descends(parameters) && weights != nullptr;
  check_denoise_parameters(parameters);
  parameters.regulariser = within_float32(parameters.regulariser);
  if (reference != nullptr) require_same_grid(f.grid(), "the volume", reference->grid, "`reference`");
  const bool weighted = parameters.method == "spdu" || parameters.statistical;
  if (weighted && weights == nullptr)
    throw InputError(
        "`method = spdu` needs `weights`, the noise variance at every voxel (make it with `FdkParameters::variance`)");
  if (weights != nullptr) check_use_of_weights(parameters, parameters.half_a != nullptr);
  const Grid& grid = f.grid();
  if (parameters.time.weight && parameters.method != "pdu4d" && grid.size[2] == 1)
    throw InputError("`time`: the volume has one slice, and one frame can be made like no other; leave it out");
  MethodParameters method = common(grid, parameters);
  DenoiseResult result;
  std::optional<DividedSource> normalised;
  double propagated = 0;  // the noise that the weights, taken for variances, say
  if (weights != nullptr) {
    require_same_grid(grid, "the volume", weights->grid(), "`weights`");
    const auto statistics = weight_statistics(*weights);
    propagated = std::sqrt(statistics.mean);
    weights = &normalised.emplace(*weights, statistics.mean);
    if (weighted) {
      method.least_weight = static_cast<float>(statistics.least / statistics.mean);
      method.largest_weight = static_cast<float>(statistics.largest / statistics.mean);
      result.weight_span = static_cast<double>(statistics.largest) / statistics.least;
      result.weight_change =
          WeightCode(method.weight_bits, method.least_weight, method.largest_weight).largest_change();
    }
  }
  const VolumeSample sample = sample_volume(f);
  check_scale(sample, "the volume");
  if (parameters.init != nullptr) check_start(*parameters.init, sample);
  result.spread = sample.spread;
  const auto offset = static_cast<float>(sample.mean);
  const WatchedSource watched_input(f);
  const ShiftedSource centred(watched_input, offset);
  method.regulariser = used_regulariser(parameters.regulariser, offset, reference, method.spacing);
  result.regulariser = parameters.regulariser;
  result.regulariser.reference_eta = method.regulariser.reference_eta;
  const bool frames = parameters.method == "pdu4d";
  const bool variances = weights != nullptr && !weighted;  // pdu: they are all that there is to say of the noise
  const double h = strength_spacing(grid, parameters);
  Volume part, weight_part, reference_part;  // what the noise is judged by
  NoiseEstimate noise;
  // Weights may be in any unit; those that agree with what is seen in the volume are variances, and know better.
  const auto agrees = [&] {
    return weights != nullptr && propagated < 2 * noise.sigma && noise.sigma < 2 * propagated;
  };
  const bool given_all =
      parameters.alpha || !method.path.empty() || (is_filter(parameters.method) && parameters.method != "nlm");
  if (!given_all) {
    part = frames ? read_volume(centred) : central_part(centred, most_judged_voxels);
    part.grid.spacing = method.spacing;
    if (weights != nullptr) weight_part = central_part(*weights, most_judged_voxels);
    if (reference != nullptr) reference_part = central_part(*reference, most_judged_voxels);
    noise = frames ? estimate_noise_of_frames(part, parameters.time.depth).noise
                   : estimate_noise(part, weights != nullptr ? &weight_part : nullptr);
    if (part.grid.count() < grid.count())  // masked background lies at the rim
      noise.active_fraction = std::min(noise.active_fraction, sample.active_fraction);
    result.noise_sigma = noise.sigma;
    if (!variances && !agrees())
      warn_of_few_places(noise, frames ? frame_grid(part.grid, parameters.time.depth) : part.grid, parameters,
                         result.warnings);
  }
  // Whatever strength leaves it as it is.
  const bool constant = !given_all && !(noise.sigma > 0) && parameters.half_a == nullptr && is_constant(f);
  if (constant && descends(parameters) && !parameters.step) parameters.step = 1;
  const bool agree = agrees();
  if (variances && !agree && !constant && !few_places(noise, part.grid))
    result.warnings.push_back(fmt::format(
        "`weights` say that the noise is {:.3g}, and {:.3g} is seen in the volume; pdu takes them for variances in "
        "squared grey values: give those of this volume (`noise_map()` finds them), or `alpha` a number",
        propagated, noise.sigma));
  if (descends(parameters)) {
    if (agree) result.noise_sigma = noise.sigma = propagated;
    set_descent(grid, noise, parameters, method, result.alpha_choice);
    result.epsilon = method.epsilon;
    result.target_fidelity = method.target_rms * std::sqrt(static_cast<double>(grid.count()));
  } else if (is_filter(parameters.method)) {
    method.noise = constant ? 1 : noise.sigma;
    if (constant) result.warnings.push_back(constant_warning);
    if (parameters.method == "nlm" && !(method.noise > 0))
      throw InputError("no noise can be measured in the volume, and nlm goes by it: choose another `method`");
  } else {
    if (parameters.alpha || !method.path.empty()) {
      method.lambda = parameters.alpha ? 1 / *parameters.alpha : method.path.back();
      result.alpha_choice = "given";
    } else if (constant) {
      method.lambda = 1;
      result.alpha_choice = "any: the volume is constant";
      result.rule_met = !parameters.target_fidelity;
    } else {
      const auto choice = [&]() -> ParameterChoice {
        if (parameters.chosen) return *parameters.chosen;
        if (frames && parameters.alpha_sigma) {
          if (!(noise.sigma > 0))
            throw InputError("no noise can be measured in the frames, so `alpha` has no /sigma: give a number");
          return {h / *parameters.alpha_sigma * noise.sigma,
                  noise.sigma,
                  fmt::format("for a noise of {:.4g}", noise.sigma),
                  true,
                  {}};
        }
        if (frames) {
          auto found = with_failover(devices, [&](const std::vector<Device>& working) {
            return choose_lambda_of_frames(part, parameters.time, parameters.target_fidelity, working);
          });
          ParameterChoice strength{found.lambda, 0, found.how, found.warning.empty(), {}};
          if (!strength.met) strength.warnings.push_back(found.warning);
          return strength;
        }
        ParameterProblem problem;
        problem.method = parameters.method;
        problem.parameters = method;
        problem.inputs["f"] = &part;
        if (weighted) problem.inputs["w"] = &weight_part;
        if (variances) problem.variance = &weight_part;
        if (reference != nullptr) problem.inputs["reference"] = &reference_part;
        if (agree || variances) problem.sigma = propagated;
        problem.target_fidelity = parameters.target_fidelity;
        problem.whole_voxels = grid.count();
        if (parameters.alpha_sigma) problem.lambda_by_noise = h / *parameters.alpha_sigma;
        Volume half_a, half_b;
        if (parameters.half_a != nullptr) {
          require_same_grid(grid, "the volume", parameters.half_a->grid, "`half_a`");
          problem.half_a = &(half_a = central_part(*parameters.half_a, most_judged_voxels));
        }
        if (parameters.half_b != nullptr) {
          require_same_grid(grid, "the volume", parameters.half_b->grid, "`half_b`");
          problem.half_b = &(half_b = central_part(*parameters.half_b, most_judged_voxels));
        }
        return with_failover(devices, [&](const std::vector<Device>& working) {
          return choose_parameter(parameters.strength, problem, working);
        });
      }();
      if (parameters.alpha_sigma)
        check_alpha(fmt::format("`alpha_sigma = {}`", *parameters.alpha_sigma), 1 / choice.lambda);
      if (parameters.on_parameter_chosen) parameters.on_parameter_chosen(choice);
      method.lambda = choice.lambda;
      if (choice.sigma > 0) result.noise_sigma = choice.sigma;
      result.alpha_choice = choice.how;
      result.rule_met = choice.met;
      result.warnings.insert(result.warnings.end(), choice.warnings.begin(), choice.warnings.end());
    }
    result.lambda = method.lambda;
    result.alpha = parameters.alpha.value_or(1 / method.lambda);
    if (result.noise_sigma > 0) result.alpha_sigma = result.alpha * result.noise_sigma * h;
  }
  part = weight_part = reference_part = Volume();
  method.fused = result.form = form_of_run(devices, grid, parameters, options.plan);
  const bool on_cpu =
      std::any_of(devices.begin(), devices.end(), [](const Device& device) { return device.info().cpu(); });
  if (result.form.stages > 0 && on_cpu && (parameters.stages || parameters.dual_bits))
    result.warnings.push_back(fmt::format(
        "{} takes kernels that are made for GPUs, and CPUs are many times slower with them; leave it out there",
        parameters.stages && parameters.dual_bits ? "`stages` with `dual_bits`"
        : parameters.stages                       ? "`stages`"
                                                  : "`dual_bits`"));

  const auto denoiser = make_denoiser(parameters.method, method);
  std::map<std::string, const VolumeSource*> inputs{{"f", &centred}};
  if (weighted) inputs["w"] = weights;
  std::optional<MemorySource> reference_source;
  if (reference != nullptr) inputs["reference"] = &reference_source.emplace(*reference);
  Volume init;
  if (parameters.init != nullptr) {
    require_same_grid(grid, "the volume", parameters.init->grid, "`init`");
    init = shifted_by(*parameters.init, -offset);
  }
  const RunOptions run_options =
      shifted_options(options, *denoiser, parameters.init != nullptr ? &init : nullptr, offset);
  WatchedSink watched_output(output);
  BoundedSink bounded(watched_output, parameters.regulariser);
  ShiftedSink shifted(parameters.regulariser.boxed() ? static_cast<VolumeSink&>(bounded) : watched_output, offset);
  take_result(*denoiser, method, run_iterations(*denoiser, inputs, shifted, devices, run_options), result);
  if (!method.path.empty()) {
    result.stages = denoiser->stages();
    result.lambda = result.stages.back().lambda;
    result.alpha = parameters.alpha_path[result.stages.size() - 1];
  }
  result.largest = 0x1p24 * largest_rounding(watched_input.range(), 0);
  if (is_filter(parameters.method)) {
    // Of a filter nobody sums up the change.
    const double change = std::numeric_limits<double>::infinity();
    const char* parameter = parameters.method == "gaussian" ? "`sigma`"
                            : parameters.method == "median" ? "`radius`"
                                                            : "`filter.strength`";
    std::string text = constant ? ""
                                : effect_warning(watched_input.range(), watched_output.range(), change, 0,
                                                 {"", fmt::format("a smaller {} smooths less", parameter)});
    if (!text.empty()) result.warnings.push_back(std::move(text));
    return result;
  }
  result.rounding = largest_rounding(watched_input.range(), offset);
  require_finite_result(parameters, result, watched_output.range());
  if (!descends(parameters))
    if (auto text = rounding_warning(watched_output.range(), offset, grid, method, result); !text.empty())
      result.warnings.push_back(std::move(text));
  const auto rms_change = result.fidelity / std::sqrt(static_cast<double>(grid.count()));
  const auto warning = [&](double sigma) {
    return result_warning(watched_input.range(), watched_output.range(), parameters, result, rms_change, sigma);
  };
  std::string text = warning(result.noise_sigma);
  // Nobody has asked for the noise yet; now it is worth a look.
  if (!text.empty() && !(result.noise_sigma > 0))
    text = warning(estimate_noise(central_part(centred, most_judged_voxels)).sigma);
  if (!text.empty()) result.warnings.push_back(std::move(text));
  return result;
}

Plan plan_on(const Grid& grid, const DenoiseParameters& parameters, const std::vector<Device>& devices,
             const PlanOptions& options) {
  return plan_with(form_of_run(devices, grid, parameters, options), grid, parameters, device_models(devices), options);
}

}  // namespace

DenoiseResult denoise_into(const VolumeSource& f, const VolumeSource* weights, VolumeSink& output,
                           const DenoiseParameters& parameters, const std::vector<Device>& devices,
                           const RunOptions& options, const Volume* reference) {
  check_devices(devices);
  RunOptions wanted = options;
  if (can_end_early(options)) wanted.plan.may_stream = false;
  if (f.on_devices()) wanted.plan.on_devices.insert("f");
  if (weights != nullptr && weights->on_devices()) wanted.plan.on_devices.insert("w");
  DenoiseParameters full = parameters;  // as they are used
  full.regulariser.guided = reference != nullptr;
  full.statistical = descends(parameters) && weights != nullptr;
  const auto plan = [&](const std::vector<Device>& used) {
    check_denoise_parameters(full);
    return plan_on(f.grid(), full, used, wanted.plan);
  };
  DenoiseParameters told = parameters;
  told.on_parameter_chosen = [&](const ParameterChoice& choice) {
    told.chosen = choice;  // whatever becomes of the devices, it is not made again
    if (parameters.on_parameter_chosen) parameters.on_parameter_chosen(choice);
  };
  return run_on_selection(devices, wanted, plan, [&](const std::vector<Device>& used, const RunOptions& planned) {
    return denoise_on(f, weights, output, told, used, planned, reference);
  });
}

Plan plan_denoise(const Grid& grid, const DenoiseParameters& parameters, const std::vector<Device>& devices,
                  const PlanOptions& options) {
  check_denoise_parameters(parameters);
  return plan_on_selection(devices,
                           [&](const std::vector<Device>& used) { return plan_on(grid, parameters, used, options); });
}

Plan plan_denoise(const Grid& grid, const DenoiseParameters& parameters, std::span<const DeviceModel> devices,
                  const PlanOptions& options) {
  check_denoise_parameters(parameters);
  return plan_on_selection(std::vector(devices.begin(), devices.end()), [&](const std::vector<DeviceModel>& used) {
    const FusedForm form = form_for(grid, parameters, known_form(used).value_or(FusedForm{}), used, options);
    return plan_with(form, grid, parameters, used, options);
  });
}

}  // namespace halocline
