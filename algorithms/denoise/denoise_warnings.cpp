#include "algorithms/denoise/denoise_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/denoise/denoise_parameters.hpp"
#include "algorithms/denoise/parameter_choice.hpp"
#include "host/system/error.hpp"

namespace halocline {

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

double largest_rounding(const ValueRange& range, float offset) {
  return 0x1p-24 * std::max(std::abs(static_cast<double>(range.least) - offset),
                            std::abs(static_cast<double>(range.greatest) - offset));
}

namespace {

// Distance from one number of float32 to the next, at the largest of these.
double float32_step(const ValueRange& range) {
  const float largest = std::max(std::abs(range.least), std::abs(range.greatest));
  return std::nextafter(largest, std::numeric_limits<float>::infinity()) - largest;
}

}  // namespace

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

namespace {

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

}  // namespace

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

}  // namespace halocline
