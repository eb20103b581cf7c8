#include "algorithms/denoise/denoise_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/denoise/frames.hpp"
#include "algorithms/denoise/parameter_choice.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "algorithms/support/require_positive.hpp"
#include "host/system/error.hpp"

namespace halocline {

bool descends(const DenoiseParameters& parameters) {
  return parameters.method == "tvgd";
}

bool fuses(const DenoiseParameters& parameters) {
  const bool primal_dual = parameters.method == "pdu" || parameters.method == "spdu";
  return primal_dual && is_dimensionless(parameters.schedule) && parameters.regulariser.plain();
}

bool gives_alpha(const DenoiseParameters& parameters) {
  return parameters.alpha || parameters.alpha_sigma;
}

MethodParameters method_parameters(const Grid& grid, const DenoiseParameters& parameters) {
  MethodParameters method;
  static_cast<GivenParameters&>(method) = parameters;
  method.size = grid.size;
  method.spacing = grid.spacing;
  method.iterations = parameters.iterations;
  method.gap = parameters.gap > 0 ? parameters.gap : -1;  // without a target the certificate of the end is enough
  method.compared = parameters.compared;
  if (parameters.time.weight && parameters.method != "pdu4d") method.spacing[2] = *parameters.time.weight;
  for (const double alpha : parameters.alpha_path) method.path.push_back(1 / alpha);
  return method;
}

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

double strength_spacing(Grid grid, const DenoiseParameters& parameters) {
  const auto& time = parameters.time;
  if (!time.weight) return mean_spacing(grid);
  if (parameters.method == "pdu4d")
    grid = frame_grid(grid, time.depth);
  else
    grid.size[2] = 1;
  return grid.count() > 1 ? mean_spacing(grid) : *time.weight;
}

void check_alpha(const std::string& parameter, const std::optional<double>& alpha) {
  constexpr double least = 1e-18, most = 1e18;
  if (alpha && !(*alpha >= least && *alpha <= most))
    throw InputError({.what = parameter,
                      .found = fmt::to_string(*alpha),
                      .expected = fmt::format("a number from {:g} to {:g}", least, most)});
}

namespace {

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
  static const std::vector<std::string> names{"float32", "snorm16"};
  return names;
}

int dual_bits_named(const std::string& name) {
  return name == "float32" ? 32 : 16;
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
  if (parameters.stages && (*parameters.stages < 0 || *parameters.stages > most_stages))
    throw InputError({.what = "`stages`",
                      .found = fmt::to_string(*parameters.stages),
                      .expected = fmt::format("0 to {}", most_stages)});
  if (parameters.dual_bits && *parameters.dual_bits != 32 && *parameters.dual_bits != 16)
    throw InputError(fmt::format("`dual_bits` has {} bits; expected 32 or 16", *parameters.dual_bits));
  if ((parameters.stages || parameters.dual_bits) && !fuses(parameters))
    throw InputError(
        "`stages` and `dual_bits` belong to the methods pdu and spdu with the schedules default or zhu-chan and plain "
        "total variation");
  if (parameters.stages && *parameters.stages == 0 && parameters.dual_bits && *parameters.dual_bits != 32)
    throw InputError(
        "`stages = 0`, the kernels in place, keep duals as float32; give `stages` 1 or 2 with other `dual_bits`");
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

}  // namespace halocline
