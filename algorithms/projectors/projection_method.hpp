// Methods that project a volume: sums along rays, of the named projectors and of users' own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/projectors/view_table.hpp"
#include "scheduling/planning/program.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

/// Arrays by convention: "volume" (volume, input), "projections" (projections, output), and the method's own.
class ProjectionMethod {
 public:
  virtual ~ProjectionMethod() = default;
  virtual Requirements requirements() const = 0;
  /// True if the scalars must have input_norm.
  virtual bool takes_norm() const { return false; }
  /// Its own arrays that it adds to from slab to slab and batch to batch, as to the output.
  virtual std::vector<std::string> sums() const { return {}; }
  /// Once a device: fills fixed arrays (matrices).
  virtual void start(Slab& slab) const = 0;
  /// Its fixed arrays with numbers of each view, and no other. Throws std::logic_error where views share numbers.
  virtual ViewTables view_tables() const;
  /// The order of views that project() needs (Step::order).
  virtual std::vector<int> order() const { return {}; }
  /// Rows that these slices add to (Step::rows), which the slab may hold alone; empty: it holds all rows.
  virtual std::function<Range(Range slices)> crossed_rows() const { return {}; }
  /// Throws InputError if the device cannot do it.
  virtual void check_device(const DeviceInfo&) const {}
  /// The volume's slices of the slab have just been put into "volume": makes what it needs of them in another form.
  virtual void loaded(Slab&) const {}
  /// Adds the part of `views` inside slab.interior() to slab.rows() of "projections".
  virtual void project(Slab& slab, Range views, const Scalars& scalars) const = 0;
};

/// One step over ray sums, from "volume" to "projections".
Program program_of(std::shared_ptr<const ProjectionMethod> method);
/// Program of a method that outlives it.
Program program_of(const ProjectionMethod& method);

}  // namespace halocline
