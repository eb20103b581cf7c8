// Gaussian smoothing: a filter to compare others with.
#pragma once

#include "algorithms/denoisers/filter.hpp"

namespace halocline {

/// u = f convolved with a Gaussian of standard deviation sigma mm along every axis, cut at 4 sigma and divided by the
/// sum of the weights inside the volume. Input "f", result "u".
class Gaussian : public Filter {
 public:
  /// Uses size, spacing, filter.sigma, variants.
  explicit Gaussian(const MethodParameters& parameters);

  Requirements requirements() const override;
  void iterate(Slab& slab, int iteration, Range core) const override;

 private:
  std::vector<float> weights_;  // of the axes one after the other, from the middle on
  std::array<int, 3> first_{};  // where an axis's begin
};

}  // namespace halocline
