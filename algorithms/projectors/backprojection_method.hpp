// Methods that build a volume up from projections: FDK and its variance, plain back-projection, adjoints of projectors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "algorithms/projectors/view_table.hpp"
#include "scheduling/planning/program.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

/// Arrays by convention: "raw" (projections, input: a batch of rows_read() x views), "filtered" (projections, scratch:
/// what filter() leaves and accumulate() reads), "volume" (volume, output).
/// Scalar of a step: the norm of the array that it reads, for methods whose sums are in fixed point (takes_norm()).
inline constexpr const char* input_norm = "input norm";

class BackprojectionMethod {
 public:
  virtual ~BackprojectionMethod() = default;
  virtual Requirements requirements() const = 0;
  /// True if the scalars must have input_norm.
  virtual bool takes_norm() const { return false; }
  /// Its own arrays that it adds to from slab to slab and batch to batch, as to the output.
  virtual std::vector<std::string> sums() const { return {}; }
  /// Once a device: fills fixed arrays (filter, matrices).
  virtual void start(Slab& slab) const = 0;
  /// Its fixed arrays with numbers of each view, and no other. Throws std::logic_error where views share numbers.
  virtual ViewTables view_tables() const;
  /// The order of views that filter() and accumulate() need (Step::order).
  virtual std::vector<int> order() const { return {}; }
  /// Rows of the projections that "raw" holds of a slab's detector rows (Step::rows_read).
  virtual Range rows_read(Range rows) const { return rows; }
  /// "raw" -> "filtered" for `views` (global numbers; the first is first in the arrays) and the slab's rows.
  /// scalars: input_norm, if the run knows it.
  virtual void filter(Slab& slab, Range views, const Scalars& scalars) const = 0;
  /// Adds `views` to `slices` of the slab in their order, voxel by voxel, starting from the stored value.
  virtual void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const = 0;
};

/// One step over voxel sums, from "raw" to "volume".
Program program_of(std::shared_ptr<const BackprojectionMethod> method);
/// Program of a method that outlives it.
Program program_of(const BackprojectionMethod& method);

}  // namespace halocline
