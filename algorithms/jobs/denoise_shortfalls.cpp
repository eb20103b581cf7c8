// Texts about what a run of denoising did not reach.
#include <fmt/format.h>

#include <cmath>

#include "algorithms/denoise/denoise_parameters.hpp"
#include "algorithms/denoisers/gap_rule.hpp"
#include "algorithms/jobs/denoise_report.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

// How far it came, after "it is" or "at".
std::string reached(const DenoiseResult& result, const DenoiseParameters& parameters, double voxels) {
  if (descends(parameters)) return fmt::format("an RMS change of {:.4g}", result.fidelity / std::sqrt(voxels));
  return fmt::format("a relative gap of {:.3g}", result.relative_gap);
}

// The gap that a type of duals may end at, and the one that it reaches to a tenth or better.
struct DualType {
  const char* name;
  double floor, good_to;
};
DualType dual_type(const DenoiseResult& result) {
  if (result.form.dual_bits == 32) return {"in float32", 1e-5, 0};
  return {"with `duals = snorm16`", 1e-4, 1e-5};
}

// The text about a gap that has stopped falling.
std::string stalled_gap(const DenoiseResult& result, double wanted, double found, int iterations) {
  const DualType type = dual_type(result);
  return fmt::format("the relative gap of {:g} {}: it stays at {:.3g} (after {} iterations)", wanted,
                     found <= type.floor ? fmt::format("cannot be reached {}", type.name)
                                         : "was not reached, and does not come nearer",
                     found, iterations);
}

// The remedy where a gap was not reached.
std::string gap_remedy(const DenoiseResult& result, const DenoiseParameters& parameters) {
  constexpr double wide = 1e4;  // a span of 70 costs a quarter more iterations
  const bool duals = parameters.gap < dual_type(result).good_to && dual_type(result).good_to > least_certain_gap;
  if (parameters.gap < least_certain_gap)
    return fmt::format("a `gap` of at least {:.3g}, as float32 is certain of none below{}", least_certain_gap,
                       duals ? ", and `duals = float32`" : "");
  if (duals) return "`duals` of more bits, or a larger `gap`";
  if (result.weight_span > wide)
    return fmt::format("`weights` that span less than a factor of {:.2g}, more `iterations`, or a larger `gap`",
                       result.weight_span);
  return "more `iterations`, or a larger `gap`";
}

std::string shortfall_of_stage(const StageRecord& stage, double alpha, const DenoiseResult& result,
                               const DenoiseParameters& parameters) {
  if (stage.stalled)
    return fmt::format("alpha {:g}: {}", alpha,
                       stalled_gap(result, parameters.gap, stage.last.relative_gap, stage.last.iteration));
  return fmt::format("alpha {:g}: the relative gap of {:g} was not reached: it is {:.3g} after {} iterations", alpha,
                     parameters.gap, stage.last.relative_gap, stage.last.iteration);
}

// Texts about a gap or a target that was not reached.
}  // namespace

std::vector<std::string> shortfalls(const DenoiseSettings& denoise, const DenoiseResult& result, bool init,
                                    double voxels) {
  const auto& parameters = denoise.parameters;
  std::vector<std::string> texts;
  if (result.stopped_by == StoppedBy::time && !result.converged)
    texts.push_back(fmt::format("the time limit of {:g} s ended the run after {} iterations at {}", denoise.time_limit,
                                result.iterations, reached(result, parameters, voxels)));
  const bool cut = result.stopped_by == StoppedBy::time || result.stopped_by == StoppedBy::interrupt;
  const bool no_target = parameters.gap == 0 && !descends(parameters);
  if (!parameters.alpha_path.empty()) {
    for (std::size_t n = 0; n + (cut ? 1 : 0) < result.stages.size(); ++n)
      if (!result.stages[n].converged && !no_target)
        texts.push_back(shortfall_of_stage(result.stages[n], parameters.alpha_path[n], result, parameters));
    if (result.stages.size() < parameters.alpha_path.size())
      texts.push_back(fmt::format("{} of {} alphas were not begun", parameters.alpha_path.size() - result.stages.size(),
                                  parameters.alpha_path.size()));
    return texts;
  }
  if (result.converged || cut || no_target) return texts;
  if (result.stalled && descends(parameters))
    texts.push_back(fmt::format("the target of ||u - f|| = {:.4g} cannot be reached: at {:.4g} {}",
                                result.target_fidelity, result.fidelity,
                                parameters.adaptive_delta ? "nothing is left below `adaptive_delta`; give a larger one"
                                                          : "the volume is flat"));
  else if (result.stalled)
    texts.push_back(fmt::format("{}; give a larger `gap`{}",
                                stalled_gap(result, parameters.gap, result.relative_gap, result.iterations),
                                result.form.dual_bits != 32   ? ", or more bits"
                                : parameters.method == "spdu" ? ", or `weights` that span less"
                                                              : ""));
  else if (!descends(parameters))
    texts.push_back(fmt::format("the relative gap of {:g} was not reached: it is {:.3g} after {} iterations; give {}",
                                parameters.gap, result.relative_gap, result.iterations,
                                gap_remedy(result, parameters)));
  else if (result.target_fidelity < result.rounding * std::sqrt(voxels))
    texts.push_back(fmt::format(
        "the target of ||u - f|| = {:.4g} was not reached: it is {:.4g}, and float32 rounds these grey values by up to "
        "{:.3g}; give a `target_fidelity` of at least {:.2g}",
        result.target_fidelity, result.fidelity, result.rounding, result.rounding * std::sqrt(voxels)));
  else if (std::isfinite(result.target_fidelity) && result.step < result.rounding)
    texts.push_back(fmt::format(
        "the target of ||u - f|| = {:.4g} was not reached: it is {:.4g}, because steps of {:.3g} are lost in "
        "float32, which rounds these grey values by up to {:.3g}; give a larger `step`",
        result.target_fidelity, result.fidelity, result.step, result.rounding));
  else if (std::isfinite(result.target_fidelity)) {
    const double flat = result.spread * std::sqrt(voxels);
    const bool beyond = !init && result.target_fidelity > 1.05 * flat;  // of a sample
    texts.push_back(fmt::format(
        "the target of ||u - f|| = {:.4g} was not reached: it is {:.4g} after {} iterations; {}",
        result.target_fidelity, result.fidelity, result.iterations,
        beyond ? fmt::format("even a flat volume is only {:.4g} away, so give a smaller `target_fidelity`", flat)
               : "give more `iterations`"));
  }
  return texts;
}

void warn_of_result(const DenoiseSettings& denoise, const DenoiseResult& result, bool init, double voxels) {
  for (const auto& text : shortfalls(denoise, result, init, voxels)) library_log()->warn("{}", text);
  for (const auto& text : result.warnings) library_log()->warn("{}", text);
}

}  // namespace halocline
