#include "apps/options/strength_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "algorithms/denoise/parameter_choice.hpp"
#include "apps/job/validators.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr std::string_view per_noise = "/sigma";

bool is_rule(const std::string& word) {
  const auto& rules = parameter_rules();
  return std::find(rules.begin(), rules.end(), word) != rules.end();
}

}  // namespace

void add_alpha_option(CLI::App& app, StrengthOptions& options) {
  app.add_option(
         "--alpha", options.alpha,
         "pdu, spdu, pdu4d: weight of the data, 1/(grey value mm), smaller is smoother; 1.5/sigma: the same in units "
         "of the noise, whatever grey values and lengths are measured in, alpha = 1.5/(sigma h) with the noise sigma "
         "that --halves show, --weights say or the volume itself, and the mean spacing h; or a rule to choose it by "
         "(pdu4d: discrepancy or target):\n"
         "auto, the default: halves if given, else sure; pdu4d: discrepancy\n"
         "sure: least error for noise as estimated, or as --weights say\n"
         "halves: the same for noise as --halves show it, of any kind\n"
         "discrepancy: takes away as much as there is noise\n"
         "target: meets --target-fidelity; the default if that is given")
      ->type_name("A|A/sigma|RULE");
}

void add_strength_options(CLI::App& app, StrengthOptions& options) {
  add_alpha_option(app, options);
  app.add_option(
         "--halves", options.halves,
         "Reconstructions of the odd and of the even views, as fdk --halves-out makes them: for --alpha halves, "
         "auto or A/sigma, and --weights halves")
      ->type_name("A,B");
}

std::array<std::string, 2> parse_pair(const std::string& option, const std::string& text) {
  const auto comma = text.find(',');
  if (comma == std::string::npos || comma == 0 || comma + 1 == text.size() || text.find(',', comma + 1) != text.npos)
    throw InputError(
        fmt::format("{} is \"{}\"; expected two files with a comma between them: A.mha,B.mha", option, text));
  return {text.substr(0, comma), text.substr(comma + 1)};
}

void take_strength(StrengthOptions& options, const std::string& weights, DenoiseParameters& parameters) {
  const std::string& alpha = options.alpha;
  const bool takes_alpha = parameters.method != "tvgd" && !is_filter(parameters.method);
  if (!takes_alpha && !alpha.empty())
    throw InputError(fmt::format("--alpha belongs to the methods pdu, spdu and pdu4d; {} takes {}", parameters.method,
                                 own_options(parameters.method)));
  const bool path = !parameters.alpha_path.empty();
  if (path && !alpha.empty())
    throw InputError("--alpha-path and --alpha exclude each other: the path names every alpha");
  if (alpha == "target") {
    if (!parameters.target_fidelity)
      throw InputError("--alpha target needs --target-fidelity, the ||u-f||_2 to be reached");
  } else if (is_rule(alpha)) {
    if (parameters.target_fidelity)
      throw InputError(fmt::format(
          "--alpha {} and --target-fidelity exclude each other: give --alpha target, or leave one of them out", alpha));
    parameters.strength = alpha;
  } else if (!alpha.empty()) {
    std::string number = alpha;
    const bool in_noise = number.ends_with(per_noise);
    if (in_noise) number.resize(number.size() - per_noise.size());
    if (!positive_number()(number).empty())
      throw InputError(fmt::format("--alpha is \"{}\"; expected a positive number{}", alpha,
                                   in_noise
                                       ? " before /sigma, as in 1.5/sigma"
                                       : fmt::format(", target, or one of {}, or units of the noise, as in 1.5/sigma",
                                                     fmt::join(parameter_rules(), ", "))));
    (in_noise ? parameters.alpha_sigma : parameters.alpha) = parse_numbers("--alpha", {number}).front();
  }
  if (options.halves.empty()) {
    for (const auto& [option, value] : {std::pair("--alpha", alpha), std::pair("--weights", weights)})
      if (value == "halves")
        throw InputError(fmt::format(
            "{} halves needs --halves A,B, the reconstructions of the odd and of the even views (halocline fdk "
            "--halves-out)",
            option));
    return;
  }
  options.files = parse_pair("--halves", options.halves);
  if (parameters.method == "pdu4d")
    throw InputError("--halves serves nothing here: the rule halves is for --method pdu and spdu, not for pdu4d");
  const bool chooses = takes_alpha && !path && !parameters.alpha && !parameters.target_fidelity &&
                       (parameters.strength == "auto" || parameters.strength == "halves");
  if (!chooses && weights != "halves")
    throw InputError(
        "--halves serves nothing here: it is for --alpha halves, auto or units of the noise "
        "(1.5/sigma), and for --weights halves");
}

}  // namespace halocline
