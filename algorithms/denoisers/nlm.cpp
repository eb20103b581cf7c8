#include "algorithms/denoisers/nlm.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace halocline {
namespace {

int patch_radius(const MethodParameters& parameters) {
  return parameters.filter.patch_radius.value_or(default_patch_radius);
}

int search_radius(const MethodParameters& parameters) {
  const bool flat = std::count(parameters.size.begin(), parameters.size.end(), std::size_t{1}) > 0;
  return parameters.filter.search_radius.value_or(flat ? default_search_radius_2d : default_search_radius);
}

}  // namespace

Nlm::Nlm(const MethodParameters& parameters)
    : Filter("nlm", parameters, along_axes(parameters.size, patch_radius(parameters) + search_radius(parameters))),
      patch_(along_axes(parameters.size, patch_radius(parameters))),
      search_(along_axes(parameters.size, search_radius(parameters))) {}

Requirements Nlm::requirements() const {
  Requirements need = Filter::requirements();
  need.kernels.insert(need.kernels.begin(), "nlm_filter");
  declare_padded(need);
  return need;
}

void Nlm::iterate(Slab& slab, int, Range core) const {
  pad(slab, core.grown(reach_[2], reach_[2], slab.nz()));
  const double strength = parameters_.filter.strength.value_or(default_nlm_strength);
  const double h2 = strength * strength * parameters_.noise * parameters_.noise;
  const int voxels = (2 * patch_[0] + 1) * (2 * patch_[1] + 1) * (2 * patch_[2] + 1);
  launch_on_padded(slab, "nlm.cl", "nlm_filter", core,
                   fmt::format("-D SX={} -D SY={} -D SZ={} -D TX={} -D TY={} -D TZ={}", search_[0], search_[1],
                               search_[2], patch_[0], patch_[1], patch_[2]),
                   {static_cast<float>(1 / (voxels * h2)), static_cast<float>(2 / (strength * strength))});
}

}  // namespace halocline
