#include "algorithms/jobs/denoise_settings.hpp"

#include <algorithm>

#include "algorithms/denoise/parameter_choice.hpp"
#include "algorithms/denoisers/registry.hpp"

namespace halocline {
namespace {

const char* const time_group = "Time";
const char* const end_group = "Start, end and part of the volume";
const char* const filter_group = "Filters to compare with";

void add_weights_setting(Settings& settings, DenoiseSettings& denoise) {
  settings
      .add("weights", denoise.weights,
           "spdu, tvgd, pdu: noise variance of each voxel on the same grid, as fdk `variance_out` makes it; "
           "halves: "
           "from the `halves`; estimate: from the volume alone, less reliable, because fine texture passes for noise "
           "('halocline noise-map' writes either). tvgd does without, or takes steps proportional to the standard "
           "deviation; pdu does without, or chooses `alpha` sure, discrepancy or A/sigma by it, its problem having no "
           "weights")
      .unit("FILE|halves|estimate");
}

void add_step_settings(Settings& settings, DenoiseSettings& denoise) {
  auto& p = denoise.parameters;
  settings
      .add("step", p.step,
           "tvgd: RMS change of a voxel in one iteration, grey values. Default: a tenth of the estimated noise")
      .positive()
      .unit("S");
  settings
      .add("target-fidelity", p.target_fidelity,
           "||u-f||_2 (grey value times the root of the number of voxels). tvgd: stop there; pdu, spdu, pdu4d: choose "
           "alpha so that it is reached. Default for tvgd without `step`: the estimated noise")
      .positive()
      .unit("F");
  settings
      .add("adaptive-delta", p.adaptive_delta,
           "tvgd: differences between neighbours well above it are edges and stay (adaptive-weighted total variation); "
           "noise has to lie below, or it stays, too. Grey values/mm. Default: all are smoothed")
      .positive()
      .unit("D");
}

void add_filter_settings(Settings& settings, FilterParameters& filter) {
  for (const FilterParameter& each : filter_parameters()) {
    std::string name = each.name.substr(each.name.find('.') + 1);
    std::replace(name.begin(), name.end(), '_', '-');
    const std::string help = each.method + ": " + each.help;
    Setting& setting = each.number != nullptr
                           ? settings.add(name, filter.*each.number, help).positive()
                           : settings.add(name, filter.*each.voxels, help).whole_from(each.least, each.most);
    setting.unit(each.unit).group(filter_group);
  }
}

void add_time_settings(Settings& settings, DenoiseSettings& denoise) {
  settings
      .add("time-weight", denoise.parameters.time.weight,
           "pdu4d, `time_axis`: differences between frames are divided by it, in mm, as those between voxels by their "
           "spacing: the larger, the less frames are made alike")
      .positive()
      .unit("W")
      .group(time_group);
  settings.add("time-axis", denoise.time_axis, "pdu, spdu: the axis of the volume that is time (2D frames)")
      .one_of({"z"})
      .group(time_group);
}

void add_end_settings(Settings& settings, DenoiseSettings& denoise) {
  settings
      .add("alpha-path", denoise.alpha_path,
           "pdu, spdu: one run for each of these alphas in turn, each from the result and the duals of the one before, "
           "each with `iterations` of its own; the output den.mha becomes den_alpha40.mha, den_alpha20.mha, ...")
      .not_empty("a list like 40,20,10")
      .unit("A,A,...")
      .group(end_group);
  settings
      .add("time-limit", denoise.time_limit,
           "End after so many seconds of iterations (transfers included; reading, writing and choosing alpha are not "
           "counted) with what there is then. Default: none")
      .positive()
      .initial("")
      .unit("S")
      .group(end_group);
  settings
      .add("keep-partial", denoise.keep_partial,
           "At Ctrl-C or SIGTERM, write what there is with its certificate (the exit code is 1 all the same). A second "
           "one ends without it")
      .group(end_group);
}

}  // namespace

void add_alpha_setting(Settings& settings, DenoiseSettings& denoise) {
  std::vector<std::string> rules = parameter_rules();
  rules.emplace_back("target");
  settings
      .add("alpha", SettingKind::text,
           "pdu, spdu, pdu4d: weight of the data, 1/(grey value mm), smaller is smoother; 1.5/sigma: the same in units "
           "of the noise, whatever grey values and lengths are measured in, alpha = 1.5/(sigma h) with the noise sigma "
           "that `halves` show, `weights` say or the volume itself, and the mean spacing h; or a rule to choose it by "
           "(pdu4d: discrepancy or target):\n"
           "auto, the default: halves if given, else sure; pdu4d: discrepancy\n"
           "sure: least error for noise as estimated, or as `weights` say\n"
           "halves: the same for noise as `halves` show it, of any kind\n"
           "discrepancy: takes away as much as there is noise\n"
           "target: meets `target_fidelity`; the default if that is given",
           [&denoise](const std::vector<std::string>& words) {
             const std::string& text = words.front();
             if (!text.empty() && text != "target" && !is_strength_rule(text)) strength_number(text);
             denoise.alpha = text;
           })
      .unit("A|A/sigma|RULE")
      .also(std::move(rules));
}

void add_method_settings(Settings& settings, DenoiseSettings& denoise) {
  auto& p = denoise.parameters;
  settings.add("iterations", p.iterations, "At most so many iterations; with `alpha_path`, for each alpha")
      .whole_from(1, most_iterations)
      .unit("N");
  settings
      .add(
          "gap", p.gap,
          "pdu, spdu, pdu4d: stop at this relative duality gap, below 1; 0: make all of `iterations`, the fastest, for "
          "the gap is then evaluated at the end alone")
      .not_negative()
      .unit("G");
  settings
      .add("schedule", denoise.schedule,
           "pdu, spdu, pdu4d: step sizes. default: the fastest; zhu-chan: a published one; chambolle-pock: with proof; "
           "seed: a published one that starts in the wrong direction, for comparison")
      .one_of({"default", "zhu-chan", "seed", "chambolle-pock"});
  settings
      .add(
          "stages", p.stages,
          "pdu, spdu, with the schedules default or zhu-chan: iterations in one pass over the device's memory, 1 or 2; "
          "0: two kernels in place, which need the least memory. The result has the same bits. Default: what was "
          "measured to be fastest and fits")
      .whole_from(0, most_stages)
      .unit("N");
  settings
      .add_word("duals", p.dual_bits, dual_names(), dual_bits_named,
                "pdu, spdu: how dual variables are stored: float32; snorm16, good to a gap of 1e-5 (1e-3 where alpha "
                "is forty times smaller than the noise asks for). Made for GPUs: on CPUs float32 is many times faster")
      .initial("float32");
  add_step_settings(settings, denoise);
}

void add_penalty_settings(Settings& settings, PenaltySettings& penalty, Regulariser& regulariser,
                          const std::string& group) {
  settings
      .add("tv", penalty.tv,
           "isotropic: |Du|; anisotropic: |D_x u| + |D_y u| + |D_z u|, for objects along the axes; huber: |Du|, but "
           "quadratic below `huber_delta`, which keeps slopes from becoming stairs")
      .one_of({"isotropic", "anisotropic", "huber"})
      .group(group);
  settings.add("huber-delta", regulariser.huber_delta, "`tv = huber`: gradients below it are smoothed, grey values/mm")
      .positive()
      .unit("D")
      .group(group);
  settings
      .add("minimum", penalty.minimum, "No grey value of the result is below it (whole numbers are rounded afterwards)")
      .unit("A")
      .group(group);
  settings
      .add("maximum", penalty.maximum, "No grey value of the result is above it (whole numbers are rounded afterwards)")
      .unit("B")
      .group(group);
  settings.add("nonnegative", penalty.nonnegative, "The same as `minimum = 0`").excludes("minimum").group(group);
  settings
      .add("reference-eta", regulariser.reference_eta,
           "Gradients of the reference well above it are edges, grey values of the reference/mm. Default: from its "
           "noise "
           "and its largest gradient")
      .positive()
      .unit("E")
      .group(group);
  settings
      .add("reference-strength", regulariser.reference_strength,
           "How much of the variation across the reference's edges is free: above 0, at most 1. Default: 1")
      .positive()
      .unit("G")
      .group(group);
}

void add_reference_setting(Settings& settings, std::string& reference) {
  settings
      .add("reference", reference,
           "Another volume of the object on the same grid (of another energy, time or kernel): where it has edges, the "
           "result may have them for free")
      .unit("FILE")
      .group(settings.find("tv")->group());
}

void add_truth_setting(Settings& settings, std::string& truth, const std::string& group) {
  settings
      .add("truth", truth,
           "The volume that is sought, on the same grid: all records of the history have the error to it, RMSE and "
           "relative to its norm. The result does not change by that; each record takes a pass over both volumes")
      .unit("FILE")
      .group(group);
}

void add_denoise_settings(Settings& settings, DenoiseSettings& denoise) {
  auto& p = denoise.parameters;
  settings
      .add("method", p.method,
           "pdu: the exact minimum of 1/2 ||u-f||^2 + 1/alpha TV(u), with a certificate; spdu: the same, weighted with "
           "the noise variance of each voxel; pdu4d: time frames together; tvgd: steps down the total variation. To "
           "compare with: gaussian, median, nlm (non-local means)")
      .one_of(denoiser_names())
      .initial("");
  add_alpha_setting(settings, denoise);
  add_weights_setting(settings, denoise);
  add_method_settings(settings, denoise);
  add_end_settings(settings, denoise);
  add_penalty_settings(settings, denoise.penalty, p.regulariser);
  add_filter_settings(settings, p.filter);
  add_time_settings(settings, denoise);
}

}  // namespace halocline
