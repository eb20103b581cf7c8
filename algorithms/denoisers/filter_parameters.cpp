#include "algorithms/denoisers/filter_parameters.hpp"

#include <fmt/format.h>

#include "algorithms/support/require_positive.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

void require_range(const char* parameter, const std::optional<int>& value, int least, int most) {
  if (value && (*value < least || *value > most))
    throw InputError(
        {.what = parameter, .found = fmt::to_string(*value), .expected = fmt::format("{} to {} voxels", least, most)});
}

void require_method(const char* parameter, bool given, const char* owner, const std::string& method) {
  if (given && method != owner)
    throw InputError(fmt::format("{} belongs to the method {}; {} has no such thing", parameter, owner, method));
}

}  // namespace

bool is_filter(const std::string& method) {
  return !filter_options(method).empty();
}

std::string filter_options(const std::string& method) {
  if (method == "gaussian") return "`sigma`";
  if (method == "median") return "`radius`";
  if (method == "nlm") return "`patch_radius`, `search_radius` and `filter.strength`";
  return {};
}

void check_filter_parameters(const FilterParameters& parameters, const std::string& method) {
  require_positive("`sigma`", parameters.sigma);
  require_positive("`filter.strength`", parameters.strength);
  require_range("`radius`", parameters.radius, 1, 5);
  require_range("`patch_radius`", parameters.patch_radius, 0, 5);
  require_range("`search_radius`", parameters.search_radius, 1, 20);
  require_method("`sigma`", parameters.sigma.has_value(), "gaussian", method);
  require_method("`radius`", parameters.radius.has_value(), "median", method);
  require_method("`patch_radius`", parameters.patch_radius.has_value(), "nlm", method);
  require_method("`search_radius`", parameters.search_radius.has_value(), "nlm", method);
  require_method("`filter.strength`", parameters.strength.has_value(), "nlm", method);
}

}  // namespace halocline
