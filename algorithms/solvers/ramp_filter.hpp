// The ramp filter of a volume's slices as a symmetric positive definite operator, for preconditioning.
#pragma once

#include <array>

#include "algorithms/expressions/recording.hpp"

namespace halocline {

/// M = R_i / h_i + R_j / h_j: along each of the axes i and j of a slice the convolution with the band-limited ramp's
/// kernel h_0 = 1/4, h_n = -1/(pi n)^2 for odd n, 0 for even n (Kak & Slaney 1988, eq. 61), over the spacing, 0
/// outside. Each R is a section of a convolution whose transfer function |frequency| is not negative, hence symmetric
/// and positive definite. Their sum |f_i| + |f_j| is between |f| and sqrt(2) |f|, f the frequency in the slice. No
/// slice depends on others. A voxel takes nx + ny / 2 multiplications.
class RampFilter {
 public:
  /// Adds its tables to the program that is recorded. Throws InputError (`precondition`) unless the volume's slices are
  /// across the rotation axis, which is y.
  explicit RampFilter(expressions::Recording& on);
  /// to = M from, of volumes of the program.
  void filter(const expressions::Array& from, const expressions::Array& to) const;

 private:
  expressions::Recording& on_;
  std::array<std::size_t, 3> size_;
  std::array<float, 2> scale_;  // 1 / h_i, 1 / h_j
};

}  // namespace halocline
