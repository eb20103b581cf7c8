// Meaning and checks of settings of denoising together.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "algorithms/denoise/denoise_parameters.hpp"
#include "algorithms/jobs/denoise_settings.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "host/system/error.hpp"

namespace halocline {

void PenaltySettings::put_into(Regulariser& regulariser, const std::string& method, bool guided) const {
  // By its own name: what follows knows the bound alone.
  if (nonnegative && method != "pdu" && method != "spdu")
    throw InputError(fmt::format("`nonnegative` belongs to the methods pdu and spdu; {} has no such thing", method));
  if (nonnegative && maximum && !(*maximum > 0))
    throw InputError(fmt::format("`nonnegative` and `maximum = {:g}`: expected a maximum above 0", *maximum));
  regulariser.variation = variation_named(tv);
  regulariser.guided = guided;
  if (nonnegative) regulariser.minimum = 0;
  if (minimum) regulariser.minimum = *minimum;
  if (maximum) regulariser.maximum = *maximum;
}

StrengthNumber strength_number(const std::string& alpha) {
  constexpr std::string_view per_noise = "/sigma";
  std::string text = alpha;
  const bool in_noise = text.ends_with(per_noise);
  if (in_noise) text.resize(text.size() - per_noise.size());
  const auto number = parsed_number(text);
  if (!number || !(*number > 0))
    throw InputError(fmt::format("`alpha` is \"{}\"; expected a positive number{}", alpha,
                                 in_noise
                                     ? " before /sigma, as in 1.5/sigma"
                                     : fmt::format(", target, or one of {}, or units of the noise, as in 1.5/sigma",
                                                   fmt::join(parameter_rules(), ", "))));
  return {*number, in_noise};
}

bool is_strength_rule(const std::string& alpha) {
  const auto& rules = parameter_rules();
  return std::find(rules.begin(), rules.end(), alpha) != rules.end();
}

namespace {

void check_time(const DenoiseSettings& denoise, std::size_t volumes) {
  const auto& method = denoise.parameters.method;
  const bool frames = denoise.frames(), weighted = denoise.parameters.time.weight.has_value();
  if (volumes > 1 && !frames)
    throw InputError(
        fmt::format("{} volumes are given, but {} takes one; for time frames use `method = pdu4d`", volumes, method));
  if (volumes < 2 && frames)
    throw InputError(
        "pdu4d takes two volumes or more, the frames, and there is one; for a volume whose z axis is time use "
        "`method = pdu` and `time_axis = z`");
  if (!denoise.time_axis.empty() && !denoise.pdu_or_spdu())
    throw InputError(fmt::format("`time_axis` is for the methods pdu and spdu; {} {}", method,
                                 frames ? "takes the frames as several volumes" : "knows no time"));
  if (!denoise.time_axis.empty() && !weighted)
    throw InputError("`time_axis` needs `time_weight`, the mm by which differences along that axis are divided");
  if (denoise.time_axis.empty() && weighted && !frames)
    throw InputError("`time_weight` is for `method = pdu4d`, or belongs to `time_axis = z`; leave it out");
}

std::vector<double> path_of(const DenoiseSettings& denoise) {
  const std::string& text = denoise.alpha_path;
  if (text.empty()) return {};
  if (text.find("/sigma") != std::string::npos)
    throw InputError(
        fmt::format("`alpha_path` '{}' is in units of the noise, which only `alpha` can be; give numbers (a run with "
                    "`alpha = 1.5/sigma` says which that is)",
                    text));
  auto values = parse_numbers("`alpha_path`", {text});
  if (values.empty()) throw InputError(fmt::format("`alpha_path` '{}' has no number; give a list like 40,20,10", text));
  require_positive("`alpha_path`", values);
  for (std::size_t n = 0; n < values.size(); ++n)
    for (std::size_t m = 0; m < n; ++m)
      if (fmt::format("{:g}", values[n]) == fmt::format("{:g}", values[m]))
        throw InputError(fmt::format("`alpha_path` names {:g} twice; each value makes a volume of its own", values[n]));
  return values;
}

void take_alpha(DenoiseSettings& denoise) {
  auto& p = denoise.parameters;
  const std::string& alpha = denoise.alpha;
  if (alpha.empty()) return;
  if (denoise.descends() || is_filter(p.method))
    throw InputError(fmt::format("`alpha` belongs to the methods pdu, spdu and pdu4d; {} takes {}", p.method,
                                 own_options(p.method)));
  if (!p.alpha_path.empty())
    throw InputError("`alpha_path` and `alpha` exclude each other: the path names every alpha");
  if (alpha == "target") {
    if (!p.target_fidelity) throw InputError("`alpha = target` needs `target_fidelity`, the ||u-f||_2 to be reached");
  } else if (is_strength_rule(alpha)) {
    if (p.target_fidelity)
      throw InputError(fmt::format(
          "`alpha = {}` and `target_fidelity` exclude each other: give `alpha = target`, or leave one of them out",
          alpha));
    p.strength = alpha;
  } else {
    const StrengthNumber number = strength_number(alpha);
    (number.in_noise ? p.alpha_sigma : p.alpha) = number.value;
  }
}

void check_halves(const DenoiseSettings& denoise, bool halves) {
  const auto& p = denoise.parameters;
  if (!halves) {
    for (const auto& [name, value] :
         {std::pair("`alpha = halves`", denoise.alpha), {"`weights = halves`", denoise.weights}})
      if (value == "halves")
        throw InputError(fmt::format(
            "{} needs `halves`, the reconstructions of the odd and of the even views (fdk `halves_out`)", name));
    return;
  }
  if (denoise.frames())
    throw InputError("`halves` serves nothing here: the rule halves is for the methods pdu and spdu, not for pdu4d");
  const bool takes_alpha = !denoise.descends() && !is_filter(p.method);
  const bool chooses = takes_alpha && p.alpha_path.empty() && !p.alpha && !p.target_fidelity &&
                       (p.strength == "auto" || p.strength == "halves");
  if (!chooses && denoise.weights != "halves")
    throw InputError(
        "`halves` serves nothing here: it is for `alpha = halves`, auto or units of the noise (1.5/sigma), and for "
        "`weights = halves`");
}

// Settings that the method does not take and whose defaults hide whether they were given.
void check_use(const DenoiseSettings& denoise, const Settings& settings, const DenoiseArrays& given) {
  const auto& method = denoise.parameters.method;
  if (denoise.descends())
    for (const auto& [name, quoted] : {std::pair("gap", "`gap`"), {"schedule", "`schedule`"}})
      if (settings.given(name))
        throw InputError(fmt::format(
            "{} is for the methods pdu, spdu and pdu4d; tvgd takes `step`, `iterations` and `target_fidelity`",
            quoted));
  if (!is_filter(method)) return;
  for (const auto& [is_given, quoted] : {std::pair(settings.given("gap"), "`gap`"),
                                         {settings.given("schedule"), "`schedule`"},
                                         {settings.given("iterations"), "`iterations`"},
                                         {denoise.time_limit > 0, "`time_limit`"},
                                         {denoise.keep_partial, "`keep_partial`"},
                                         {given.init, "`init`"}})
    if (is_given)
      throw InputError(
          fmt::format("{} is for methods that iterate; {} takes {}", quoted, method, filter_options(method)));
}

}  // namespace

void take_denoise_settings(DenoiseSettings& denoise, const Settings& settings, const DenoiseArrays& given) {
  auto& p = denoise.parameters;
  denoise.penalty.put_into(p.regulariser, p.method, given.reference);
  check_time(denoise, given.volumes);
  p.schedule = schedule_named(denoise.schedule);
  p.alpha_path = path_of(denoise);
  take_alpha(denoise);
  check_halves(denoise, given.halves);
  check_denoise_parameters(p);
  const bool weights = given.weights || !denoise.weights.empty();
  if (p.method == "spdu" && !weights)
    throw InputError(
        "`weights` is missing: spdu needs the noise variance of each voxel; fdk `variance_out` makes it, "
        "`weights = halves` or estimate finds it, or use `method = pdu`");
  if (weights) check_use_of_weights(p, given.halves);
  check_use(denoise, settings, given);
  p.statistical = denoise.descends() && weights;
}

}  // namespace halocline
