#include "apps/commands/denoise_report.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <limits>

#include "algorithms/jobs/denoise_report.hpp"
#include "apps/job/report.hpp"
#include "apps/options/file_names.hpp"
#include "apps/options/output_type.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

nlohmann::json results_json(const DenoiseCommand& command, const DenoiseResult& result) {
  nlohmann::json results = denoise_results(command, result);
  if (!is_filter(command.parameters.method) && command.frames.inputs.size() > 1)
    results["frames"] = command.frames.inputs.size();
  for (std::size_t n = 0; n < result.stages.size(); ++n) {
    const auto& stage = result.stages[n];
    results["stages"].push_back({{"alpha", command.parameters.alpha_path[n]},
                                 {"output", path_output(command.output, command.parameters.alpha_path[n])},
                                 {"iterations", stage.last.iteration},
                                 {"relative_gap", stage.last.relative_gap},
                                 {"fidelity", stage.last.fidelity},
                                 {"converged", stage.converged}});
  }
  return results;
}

// Reports the loss by the type of the output.
void report_storage(Job& job, const DenoiseOutputs& outputs, bool rescaled, double rms_change) {
  const ImageStorage& storage = outputs.storage();
  report_clamping(job, storage, outputs.changed(),
                  rescaled                        ? "--output-type float32"
                  : is_integer(storage.component) ? "--rescale or a wider --output-type"
                                                  : "a wider --output-type");
  const double slope = storage.scaling.slope;
  constexpr double rounding = 0.29;  // RMS of what is rounded off, in steps
  if (is_integer(storage.component) && rms_change > 0 && rms_change < rounding * std::abs(slope))
    spdlog::warn("rounding to steps of {:g} changes the values more than denoising did (RMS change {:.3g}); give {}",
                 std::abs(slope), rms_change,
                 !rescaled                               ? "--rescale or --output-type float32"
                 : storage.component == Component::uint8 ? "--output-type uint16 or float32"
                                                         : "--output-type float32");
}

// Warns of the loss by the type of the stored values.
void warn_of_component(const DenoiseCommand& command, const ImageInfo& input, const DenoiseResult& result) {
  const Component component = component_named(input.component);
  const double level = is_integer(component) ? std::abs(input.scaling.slope) : 0;  // between the values
  const auto largest = static_cast<float>(result.largest);
  const double step = std::nextafter(largest, std::numeric_limits<float>::infinity()) - largest;
  const bool finer = component_bytes(component) > 4 || component == Component::int32 || component == Component::uint32;
  const bool seen = result.noise_sigma > 0 ? step > 0.1 * result.noise_sigma : result.spread == 0;
  if (finer && largest > 0 && step > level && seen)
    spdlog::warn(
        "'{}' holds {} values of up to {:.3g}; float32, in which all is calculated, has steps of {:.2g} there, and "
        "finer "
        "contrast is lost: subtract an offset from them first",
        command.input, input.component, result.largest, step);
  const auto& parameters = command.parameters;
  const bool by_noise =
      command.pdu_or_spdu() && !parameters.alpha && parameters.alpha_path.empty() && !parameters.target_fidelity;
  if (by_noise && result.noise_sigma > 0 && result.noise_sigma < 0.55 * level)
    spdlog::warn(
        "'{}' holds whole numbers, and its noise of {:.2g} is hardly more than half a step of {:.3g} between them: "
        "what was "
        "rounded away misleads the choice of alpha; give --alpha a number",
        command.input, result.noise_sigma, level);
}

// The end after Ctrl-C with --keep-partial, when the partial result has been written.
[[noreturn]] void end_interrupted(Job& job, const DenoiseCommand& command, const DenoiseOutputs& outputs,
                                  const DenoiseResult& result) {
  job.keep_report();
  const std::string state = command.descends() ? fmt::format("||u - f|| = {:.4g}", result.fidelity)
                                               : fmt::format("a relative gap of {:.3g}", result.relative_gap);
  throw Interrupted(fmt::format("interrupted: '{}' has the result after {} iterations, with {}{}", outputs.name(result),
                                result.iterations, state, result.converged ? "; it had just been finished" : ""));
}

}  // namespace

void report_denoise(Job& job, const DenoiseCommand& command, const DenoiseInputs& inputs, const DenoiseOutputs& outputs,
                    const DenoiseResult& result) {
  const auto& parameters = command.parameters;
  const auto voxels = static_cast<double>(inputs.grid.count());
  const RunResult run = run_of(result);
  job.record(run, "denoise");
  job.results().update(results_json(command, result));
  warn_of_result(command, result, !command.control.init.empty(), voxels);
  warn_of_component(command, inputs.header, result);
  report_storage(job, outputs, command.rescale, result.fidelity / std::sqrt(voxels));
  job.say(fmt::format("{}: {}, {}{}{}", outputs.name(result),
                      inputs.region ? grid_summary(cut_out(inputs.whole, *inputs.region))
                                    : frames_summary(command.frames, inputs.frame),
                      what_was_done(command, command.reference, result, voxels),
                      inputs.region ? fmt::format(" (with a margin of {} voxels)", roi_margin) : "", job.how(run)));
  if (!result.stages.empty()) job.say(path_table(result, parameters.alpha_path, voxels));
  if (result.stopped_by == StoppedBy::interrupt) end_interrupted(job, command, outputs, result);
}

}  // namespace halocline
