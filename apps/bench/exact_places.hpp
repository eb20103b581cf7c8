// Results of benches beside double precision, at pseudo-random places of an array.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "algorithms/projectors/float64_reference.hpp"

namespace halocline {

/// Places that are compared.
inline constexpr std::size_t exact_places = 256;
/// So many elements of an array of that size, the same in every run.
std::vector<Index3> places_of(const Index3& size);
/// bench_number() of the grid's elements.
ValueAt bench_values(const Grid& grid);

struct ExactValues {
  std::vector<double> values;
  double terms = 0;  ///< of a place, on average

  /// Root mean square of the differences, over the largest magnitude.
  double relative_rmse(const std::vector<float>& found) const;
};
/// Sums at all places, computed on all cores. Throws Interrupted after Ctrl-C.
ExactValues exact_values(const std::function<ExactSum(std::size_t place)>& sum);

}  // namespace halocline
