// Non-local means: a filter to compare others with.
#pragma once

#include "algorithms/denoisers/filter.hpp"

namespace halocline {

/// u_i is the mean of the voxels in the search window around i, weighted by how alike the patches around them are
/// (Buades, Coll & Morel 2005): exp(-max(d2 - 2 noise^2, 0) / (strength noise)^2), d2 the mean squared difference of
/// the patches. Windows and patches are cubes of 2 radius + 1 voxels, squares where an axis has one voxel. Input "f",
/// result "u".
class Nlm : public Filter {
 public:
  /// Uses size, noise, filter, variants.
  explicit Nlm(const MethodParameters& parameters);

  Requirements requirements() const override;
  void iterate(Slab& slab, int iteration, Range core) const override;

 private:
  std::array<int, 3> patch_, search_;
};

}  // namespace halocline
