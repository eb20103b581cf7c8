#include "apps/options/denoise_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "algorithms/denoise/denoise_parameters.hpp"
#include "algorithms/denoisers/gap_rule.hpp"
#include "apps/job/validators.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// How far it came: after "it is" or "at".
std::string reached(const DenoiseResult& result, const DenoiseParameters& parameters, double voxels) {
  if (descends(parameters)) return fmt::format("an RMS change of {:.4g}", result.fidelity / std::sqrt(voxels));
  return fmt::format("a relative gap of {:.3g}", result.relative_gap);
}

// What a gap may end at for the type of the duals alone, and what is good to a tenth of that or better.
struct DualType {
  const char* name;
  double floor, good_to;
};
DualType dual_type(const DenoiseResult& result) {
  if (result.form.dual_bits == 32) return {"in float32", 1e-5, 0};
  return result.form.dual_bits == 16 ? DualType{"with --duals snorm16", 1e-4, 1e-5}
                                     : DualType{"with --duals snorm8", 1e-2, 1e-3};
}

// Of a gap that has stopped falling.
std::string stalled_gap(const DenoiseResult& result, double wanted, double found, int iterations) {
  const DualType type = dual_type(result);
  return fmt::format("the relative gap of {:g} {}: it stays at {:.3g} (after {} iterations)", wanted,
                     found <= type.floor ? fmt::format("cannot be reached {}", type.name)
                                         : "was not reached, and does not come nearer",
                     found, iterations);
}

// What to give where a gap was not reached.
std::string gap_remedy(const DenoiseResult& result, const DenoiseParameters& parameters) {
  constexpr double wide = 1e4;  // a span of 70 costs a quarter more iterations
  const bool duals = parameters.gap < dual_type(result).good_to && dual_type(result).good_to > least_certain_gap;
  if (parameters.gap < least_certain_gap)
    return fmt::format("a --gap of at least {:.3g}, as float32 is certain of none below{}", least_certain_gap,
                       duals ? ", and --duals float32" : "");
  if (duals) return "--duals of more bits, or a larger --gap";
  if (result.weight_span > wide)
    return fmt::format("--weights that span less than a factor of {:.2g}, more --iterations, or a larger --gap",
                       result.weight_span);
  return "more --iterations, or a larger --gap";
}

std::string shortfall_of_stage(const StageRecord& stage, double alpha, const DenoiseResult& result,
                               const DenoiseParameters& parameters) {
  if (stage.stalled)
    return fmt::format("alpha {:g}: {}", alpha,
                       stalled_gap(result, parameters.gap, stage.last.relative_gap, stage.last.iteration));
  return fmt::format("alpha {:g}: the relative gap of {:g} was not reached: it is {:.3g} after {} iterations", alpha,
                     parameters.gap, stage.last.relative_gap, stage.last.iteration);
}

// Of a gap or a target that was not reached.
std::vector<std::string> shortfalls(const DenoiseResult& result, const DenoiseParameters& parameters,
                                    const DenoiseControl& control, double voxels) {
  std::vector<std::string> texts;
  if (result.stopped_by == StoppedBy::time && !result.converged)
    texts.push_back(fmt::format("the time limit of {:g} s ended the run after {} iterations at {}", control.time_limit,
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
                                parameters.adaptive_delta ? "nothing is left below --adaptive-delta; give a larger one"
                                                          : "the volume is flat"));
  else if (result.stalled)
    texts.push_back(fmt::format("{}; give a larger --gap{}",
                                stalled_gap(result, parameters.gap, result.relative_gap, result.iterations),
                                result.form.dual_bits != 32   ? ", or more bits"
                                : parameters.method == "spdu" ? ", or --weights that span less"
                                                              : ""));
  else if (!descends(parameters))
    texts.push_back(fmt::format("the relative gap of {:g} was not reached: it is {:.3g} after {} iterations; give {}",
                                parameters.gap, result.relative_gap, result.iterations,
                                gap_remedy(result, parameters)));
  else if (result.target_fidelity < result.rounding * std::sqrt(voxels))
    texts.push_back(fmt::format(
        "the target of ||u - f|| = {:.4g} was not reached: it is {:.4g}, and float32 rounds these grey values by up to "
        "{:.3g}; give a --target-fidelity of at least {:.2g}",
        result.target_fidelity, result.fidelity, result.rounding, result.rounding * std::sqrt(voxels)));
  else if (std::isfinite(result.target_fidelity) && result.step < result.rounding)
    texts.push_back(fmt::format(
        "the target of ||u - f|| = {:.4g} was not reached: it is {:.4g}, because steps of {:.3g} are lost in "
        "float32, which rounds these grey values by up to {:.3g}; give a larger --step",
        result.target_fidelity, result.fidelity, result.step, result.rounding));
  else if (std::isfinite(result.target_fidelity)) {
    const double flat = result.spread * std::sqrt(voxels);
    const bool beyond = control.init.empty() && result.target_fidelity > 1.05 * flat;  // of a sample
    texts.push_back(fmt::format(
        "the target of ||u - f|| = {:.4g} was not reached: it is {:.4g} after {} iterations; {}",
        result.target_fidelity, result.fidelity, result.iterations,
        beyond ? fmt::format("even a flat volume is only {:.4g} away, so give a smaller --target-fidelity", flat)
               : "give more --iterations"));
  }
  return texts;
}

}  // namespace

std::vector<double> DenoiseControl::alphas() const {
  if (alpha_path.empty()) return {};
  if (alpha_path.find("/sigma") != std::string::npos)
    throw InputError(
        fmt::format("--alpha-path '{}' is in units of the noise, which only --alpha can be; give numbers (a run with "
                    "--alpha 1.5/sigma says which that is)",
                    alpha_path));
  const auto values = parse_numbers("--alpha-path", {alpha_path});
  if (values.empty())
    throw InputError(fmt::format("--alpha-path '{}' has no number; give a list like 40,20,10", alpha_path));
  require_positive("--alpha-path", values);
  for (std::size_t n = 0; n < values.size(); ++n)
    for (std::size_t m = 0; m < n; ++m)
      if (path_output("", values[n]) == path_output("", values[m]))
        throw InputError(fmt::format("--alpha-path names {:g} twice; each value makes a file of its own", values[n]));
  return values;
}

void add_control_options(CLI::App& app, DenoiseControl& control) {
  const char* group = "Start, end and part of the volume";
  app.add_option("--init", control.init,
                 "Image to start from, on the same grid. It saves tvgd iterations, but none for pdu and spdu, whose "
                 "duals start from 0 all the same; their result is the same to within the gap. --alpha-path keeps the "
                 "duals")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--alpha-path", control.alpha_path,
                 "pdu, spdu: one run for each of these alphas in turn, each from the result and the duals of the one "
                 "before, each with --iterations of its own; -o den.mha becomes den_alpha40.mha, den_alpha20.mha, ...")
      ->check(not_empty("a list like 40,20,10"))
      ->type_name("A,A,...")
      ->group(group);
  app.add_option("--time-limit", control.time_limit,
                 "End after so many seconds of iterations (transfers included; reading, writing and choosing alpha "
                 "are not counted) with what there is then. Default: none")
      ->check(positive_number())
      ->default_str("")
      ->type_name("S")
      ->group(group);
  app.add_flag("--keep-partial", control.keep_partial,
               "At Ctrl-C or SIGTERM, write what there is with its certificate (the exit code is 1 all the same). A "
               "second one ends without it")
      ->group(group);
  auto* checkpoint =
      app.add_option(
             "--checkpoint", control.checkpoint,
             "Keep the state of the iterations there, so that --resume can go on from it whatever ends the run: "
             "a kill, a crash, a lost device, Ctrl-C, --time-limit. --dry-run says how large it is; the disk has "
             "to have room for two. Removed when the result has been written")
          ->type_name("FILE")
          ->group(group);
  app.add_option("--checkpoint-every", control.checkpoint_every,
                 "Seconds between two states, longer where writing them would take more than a tenth of the time; 0: "
                 "after every pass over the volume, whatever it takes")
      ->check(not_negative())
      ->needs(checkpoint)
      ->type_name("S")
      ->group(group);
  app.add_flag("--resume", control.resume,
               "Go on from the --checkpoint of the same command, to the same bits as without the interruption; where "
               "there is no such file, start from the beginning")
      ->needs(checkpoint)
      ->group(group);
  app.add_option("--preview-roi", control.roi,
                 "Denoise only this box, read only this part of the file, and write only the box: first voxel and "
                 "size, or 'centre' for the central 128^3. Without --alpha the strength is chosen for the box alone")
      ->type_name("X,Y,Z,NX,NY,NZ")
      ->group(group);
  app.add_option("--png", control.png, "Also a picture of the result's three middle slices (.png)")
      ->type_name("FILE")
      ->group(group);
}

Cutout parse_roi(const std::string& text, const std::array<std::size_t, 3>& size) {
  constexpr std::size_t edge = 128;
  Cutout region;
  if (text == "centre" || text == "center") {
    for (int axis = 0; axis < 3; ++axis) {
      region.size[axis] = std::min(edge, size[axis]);
      region.first[axis] = (size[axis] - region.size[axis]) / 2;
    }
    return region;
  }
  const auto values = parse_numbers("--preview-roi", {text}, 6, "X,Y,Z,NX,NY,NZ (or 'centre')");
  require_whole("--preview-roi", values, 0);
  for (int axis = 0; axis < 3; ++axis) {
    region.first[axis] = static_cast<std::size_t>(values[axis]);
    region.size[axis] = static_cast<std::size_t>(values[3 + axis]);
    if (region.size[axis] == 0)
      throw InputError(fmt::format("--preview-roi '{}': every size must be at least 1", text));
    if (region.first[axis] + region.size[axis] > size[axis])
      throw InputError(
          fmt::format("--preview-roi '{}' reaches beyond the volume of {} x {} x {} voxels: along {} it ends at {}",
                      text, size[0], size[1], size[2], "xyz"[axis], region.first[axis] + region.size[axis]));
  }
  return region;
}

std::string path_output(const std::string& output, double alpha) {
  const std::filesystem::path path(output);
  std::string extension = path.extension().string();
  if (extension == ".gz") extension = path.stem().extension().string() + extension;
  return fmt::format("{}_alpha{:g}{}", output.substr(0, output.size() - extension.size()), alpha, extension);
}

std::string path_table(const DenoiseResult& result, const std::vector<double>& alphas, double voxels) {
  std::string text =
      fmt::format("  {:>12} {:>11} {:>13} {:>11}\n", "alpha", "iterations", "relative gap", "RMS change");
  for (std::size_t n = 0; n < result.stages.size(); ++n) {
    const auto& last = result.stages[n].last;
    text += fmt::format("  {:>12g} {:>11} {:>13.3g} {:>11.4g}\n", alphas[n], last.iteration, last.relative_gap,
                        last.fidelity / std::sqrt(voxels));
  }
  return text;
}

std::string what_ended(const DenoiseResult& result, bool descends) {
  if (result.stopped_by == StoppedBy::interrupt) return "interrupt";
  if (result.stopped_by == StoppedBy::time) return "time";
  if (result.stalled) return "stalled";
  if (result.stopped_by == StoppedBy::iterations) return "iterations";
  if (!descends) return "gap";
  return std::isfinite(result.target_fidelity) ? "target" : "flat";
}

std::string descent_end(const DenoiseResult& result) {
  const std::string end = what_ended(result, true);
  if (end == "stalled" || end == "flat") return "flatness";
  if (end == "iterations") return "the number of iterations";
  if (end == "time") return "the time limit";
  return end == "target" ? "the target" : "an interrupt";
}

void warn_of_result(const DenoiseResult& result, const DenoiseParameters& parameters, const DenoiseControl& control,
                    double voxels) {
  for (const auto& text : shortfalls(result, parameters, control, voxels)) spdlog::warn("{}", text);
  for (const auto& text : result.warnings) spdlog::warn("{}", text);
}

}  // namespace halocline
