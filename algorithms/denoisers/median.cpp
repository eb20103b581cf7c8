#include "algorithms/denoisers/median.hpp"

#include <fmt/format.h>

namespace halocline {

Median::Median(const MethodParameters& parameters)
    : Filter("median", parameters,
             along_axes(parameters.size, parameters.filter.radius.value_or(default_median_radius))) {}

Requirements Median::requirements() const {
  Requirements need = Filter::requirements();
  need.kernels.insert(need.kernels.begin(), "median_filter");
  declare_padded(need);
  return need;
}

void Median::iterate(Slab& slab, int, Range core) const {
  pad(slab, core.grown(reach_[2], reach_[2], slab.nz()));
  launch_on_padded(slab, "median.cl", "median_filter", core,
                   fmt::format("-D RX={} -D RY={} -D RZ={}", reach_[0], reach_[1], reach_[2]), {});
}

}  // namespace halocline
