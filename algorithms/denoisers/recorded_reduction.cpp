#include "algorithms/denoisers/recorded_reduction.hpp"

#include <cmath>

namespace halocline {
namespace {

constexpr const char* kernel = "filter_fidelity";  // sum (u - f)^2

Requirements needs_of(const DenoiseMethod& method, bool compared) {
  Requirements needs = method.requirements();
  if (!compared) return needs;
  needs.arrays.insert(needs.arrays.begin() + 1, volume_array("truth", Lifetime::input));
  needs.kernels.emplace_back(kernel);
  return needs;
}

// Values of a slice in "sums".
int values_of(const Requirements& needs) {
  for (const ArrayNeed& need : needs.arrays)
    if (need.lifetime == Lifetime::sums) return static_cast<int>(need.elements / 2);
  return 0;
}

}  // namespace

RecordedReduction::RecordedReduction(DenoiseMethod& method, const MethodParameters& parameters, double truth_norm)
    : method_(method),
      compared_(parameters.compared),
      count_(static_cast<double>(parameters.size[0] * parameters.size[1] * parameters.size[2])),
      truth_norm_(truth_norm),
      needs_(needs_of(method, compared_)),
      error_(SliceSums(parameters.size, 1, parameters.variants).behind(values_of(needs_) - 1)) {}

Program RecordedReduction::program() {
  return stencil_program(needs_, method_, *this);
}

void RecordedReduction::reduce(Slab& slab, int done, Range interior) const {
  method_.reduce(slab, done, interior);
  if (compared_)
    error_.launch(slab, "filter.cl", kernel, interior, {in("u"), in("truth"), out("partials"), slab.extent(interior)});
}

bool RecordedReduction::reduced(int done, std::span<const double> sums) {
  const std::span<const double> own = sums.first(sums.size() - (compared_ ? 3 : 1));
  const bool ends = method_.reduced(done, own);
  const double error =
      compared_ ? std::sqrt(sums[own.size()] + sums[own.size() + 1]) : std::numeric_limits<double>::quiet_NaN();
  method_.complete_record(sums.back(), error / std::sqrt(count_),
                          truth_norm_ > 0 ? error / truth_norm_ : std::numeric_limits<double>::quiet_NaN());
  return ends;
}

}  // namespace halocline
