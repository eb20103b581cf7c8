// Sums over the volume that are the same for every number of slabs and devices: a fixed tree in every slice on the
// device, the slices added in order in double by the runner.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "scheduling/slab.hpp"

namespace halocline {

/// The host's side of cl/sums.clh and cl/reduce.cl, for methods that reduce `components` values.
class SliceSums {
 public:
  /// fp64 = false: pairs of floats even on devices that have float64 (for tests of those that have not).
  SliceSums(const std::array<std::size_t, 3>& size, int components, bool fp64 = true);

  /// Adds the arrays "partials" (scratch) and "sums" to what a method declares.
  void declare(Requirements& requirements) const;
  /// Launches `kernel` of `file`, which fills "partials" for `slices` with STORE_SUMS, with its arguments in order;
  /// then adds those up to "sums".
  void launch(Slab& slab, const std::string& file, const std::string& kernel, Range slices,
              const std::vector<SlabArgument>& arguments) const;
  /// Component `c` of what the runner added up.
  static double value(std::span<const double> sums, int c) { return sums[2 * c] + sums[2 * c + 1]; }

 private:
  int components_, segments_;
  bool fp64_;
};

}  // namespace halocline
