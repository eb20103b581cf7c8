#include "algorithms/denoisers/filter_parameters.hpp"

#include <fmt/format.h>

#include "algorithms/support/require_positive.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

void check_range(const FilterParameter& parameter, const std::string& quoted, const FilterParameters& values) {
  if (parameter.number != nullptr) return require_positive(quoted.c_str(), values.*parameter.number);
  const auto& value = values.*parameter.voxels;
  if (value && (*value < parameter.least || *value > parameter.most))
    throw InputError({.what = quoted,
                      .found = fmt::to_string(*value),
                      .expected = fmt::format("{} to {} voxels", parameter.least, parameter.most)});
}

bool is_given(const FilterParameter& parameter, const FilterParameters& values) {
  return parameter.number != nullptr ? (values.*parameter.number).has_value() : (values.*parameter.voxels).has_value();
}

}  // namespace

const std::vector<FilterParameter>& filter_parameters() {
  using P = FilterParameters;
  static const std::vector<FilterParameter> parameters{
      {.name = "sigma",
       .method = "gaussian",
       .number = &P::sigma,
       .unit = "S",
       .help = "standard deviation in mm. Default: the coarsest voxel spacing of the axes with more than one voxel"},
      {.name = "radius",
       .method = "median",
       .voxels = &P::radius,
       .least = 1,
       .most = 5,
       .unit = "R",
       .help = fmt::format("the window is a cube of 2R+1 voxels. Default: {}", default_median_radius)},
      {.name = "patch_radius",
       .method = "nlm",
       .voxels = &P::patch_radius,
       .least = 0,
       .most = 5,
       .unit = "R",
       .help = fmt::format("voxels around two that are compared. Default: {}", default_patch_radius)},
      {.name = "search_radius",
       .method = "nlm",
       .voxels = &P::search_radius,
       .least = 1,
       .most = 20,
       .unit = "R",
       .help = fmt::format("how far alike voxels are looked for. Default: {}, in 2D {}", default_search_radius,
                           default_search_radius_2d)},
      {.name = "filter.strength",
       .method = "nlm",
       .number = &P::strength,
       .unit = "H",
       .help = fmt::format("how unlike patches may be, in standard deviations of the estimated noise. Default: {}",
                           default_nlm_strength)}};
  return parameters;
}

bool is_filter(const std::string& method) {
  return !filter_options(method).empty();
}

std::string filter_options(const std::string& method) {
  std::string before, last;
  for (const auto& each : filter_parameters()) {
    if (each.method != method) continue;
    if (!last.empty()) before += (before.empty() ? "" : ", ") + last;
    last = '`' + each.name + '`';
  }
  return before.empty() ? last : before + " and " + last;
}

void check_filter_parameters(const FilterParameters& parameters, const std::string& method) {
  for (const auto& each : filter_parameters()) check_range(each, '`' + each.name + '`', parameters);
  for (const auto& each : filter_parameters())
    if (is_given(each, parameters) && method != each.method)
      throw InputError(fmt::format("{} belongs to the method {}; {} has no such thing",
                                   '`' + std::string(each.name) + '`', each.method, method));
}

}  // namespace halocline
