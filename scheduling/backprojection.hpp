// Methods that build a volume up from projections (FDK and its variance), and the runner that takes them over slabs,
// batches and devices.
#pragma once

#include "scheduling/iteration.hpp"

namespace halocline {

/// Arrays by convention: "raw" (projections, input: a batch of rows() x views), "filtered" (projections, scratch: what
/// filter() leaves and accumulate() reads), "volume" (volume, output).
class BackprojectionMethod {
 public:
  virtual ~BackprojectionMethod() = default;
  virtual Requirements requirements() const = 0;
  /// Fills fixed arrays (filter, matrices) and sets the volume to its start value.
  virtual void start(Slab& slab) const = 0;
  /// The views in the order in which filter() and accumulate() want them: what they call view n is order()[n]. Empty:
  /// as they lie.
  virtual std::vector<int> order() const { return {}; }
  /// "raw" -> "filtered" for `views` (global numbers; the first lies first in the arrays) and the slab's rows.
  virtual void filter(Slab& slab, Range views) const = 0;
  /// Adds `views` to the slab in their order, voxel by voxel, starting from the stored value.
  virtual void accumulate(Slab& slab, Range views) const = 0;
};

/// `stack` (u, v, view) at `projections`, in the type of the method's array "raw".
RunResult run_backprojection(const BackprojectionMethod& method, const Grid& stack, const std::byte* projections,
                             const Grid& grid, const std::vector<Device>& devices, const RunOptions& options = {});
/// The same of float32.
RunResult run_backprojection(const BackprojectionMethod& method, const Volume& projections, const Grid& grid,
                             const std::vector<Device>& devices, const RunOptions& options = {});

}  // namespace halocline
