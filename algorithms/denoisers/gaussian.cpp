#include "algorithms/denoisers/gaussian.hpp"

#include <algorithm>
#include <cmath>

namespace halocline {
namespace {

double sigma_of(const MethodParameters& parameters) {
  return parameters.filter.sigma.value_or(coarsest_spacing(parameters.size, parameters.spacing));
}

std::array<int, 3> reach_of(const MethodParameters& parameters) {
  std::array<int, 3> reach;
  for (int axis = 0; axis < 3; ++axis)
    reach[axis] = static_cast<int>(std::min(std::ceil(4 * sigma_of(parameters) / parameters.spacing[axis]),
                                            static_cast<double>(parameters.size[axis] - 1)));
  return reach;
}

}  // namespace

Gaussian::Gaussian(const MethodParameters& parameters) : Filter("gaussian", parameters, reach_of(parameters)) {
  const double sigma = sigma_of(parameters);
  for (int axis = 0; axis < 3; ++axis) {
    first_[axis] = static_cast<int>(weights_.size());
    for (int k = 0; k <= reach_[axis]; ++k)
      weights_.push_back(static_cast<float>(std::exp(-std::pow(k * parameters.spacing[axis] / sigma, 2) / 2)));
  }
}

Requirements Gaussian::requirements() const {
  Requirements need = Filter::requirements();
  need.kernels.insert(need.kernels.begin(), "gaussian_blur");
  need.arrays.push_back(volume_array("v", Lifetime::scratch));
  ArrayNeed weights;
  weights.name = "weights";
  weights.kind = ArrayKind::fixed;
  weights.elements = weights_.size();
  need.arrays.push_back(weights);
  return need;
}

void Gaussian::iterate(Slab& slab, int, Range core) const {
  slab.set("weights", weights_.data(), sizeof(float) * weights_.size());
  const auto blur = [&](const char* from, const char* to, int axis, Range slices) {
    launch_rows(slab, {"gaussian.cl", "gaussian_blur", sums_.lane_option(slab)}, slices,
                {in(from), out(to), in("weights"), slab.extent(slices), axis, first_[axis], reach_[axis]});
  };
  const Range wide = core.grown(reach_[2], reach_[2], slab.nz());
  blur("f", "u", 0, wide);
  blur("u", "v", 1, wide);
  blur("v", "u", 2, core);
}

}  // namespace halocline
