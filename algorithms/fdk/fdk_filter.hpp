// Filtered rows from projections as they are measured: the first half of filtered back-projection.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "algorithms/fdk/filtered_rows.hpp"
#include "scheduling/planning/requirements.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

/// Weights and ramp filter of FDK: from "raw" (projections, input) to "spectrum", whose pairs of real rows are then
/// filtered (cl/fdk.cl) and read by the back-projection.
class FdkFilter {
 public:
  /// before: the filter of views that came earlier; least_length: see filtered_rows().
  FdkFilter(const Geometry& geometry, const Grid& projections, const FdkParameters& parameters,
            const FdkFilter* before = nullptr, std::size_t least_length = 0);
  /// Changes the order: view n is order[n] of the geometry from now on.
  void take_in_order(const std::vector<int>& order);
  const FilteredRows& rows() const { return rows_; }
  const Redundancy& redundancy() const { return redundancy_; }
  /// About what filtered rows reach where projections are 1.
  double unit() const;
  /// True if arrays that the other declared fit this one, and its rows are in the same columns.
  bool fits(const FdkFilter& other) const;
  /// Adds arrays and kernels.
  void declare(Requirements& requirements) const;
  /// Adds "raw" and the arrays of start() alone.
  void declare_tables(Requirements& requirements) const;
  /// The kernel that weights rows where they are not filtered in local memory.
  const char* weight_kernel() const { return general_ ? "fdk_general_weight" : "fdk_weight"; }
  /// True if filtered rows are between measured ones.
  bool resampled() const { return cylinder_ || rows_.upright.has_value(); }
  /// The measured rows that these rows need.
  Range rows_read(Range rows) const;
  void start(Slab& slab) const;
  void run(Slab& slab, Range views) const;
  /// The transforms of weighted rows, unfiltered: of these pairs of rows, counted from the slab's first, to
  /// "spectrum"[view][pair].
  void transform(Slab& slab, Range views, Range pairs) const;
  /// Rows of "spectrum" to "filtered", as `layout` (options of filtered.clh) says, with its work-items.
  void unpack(Slab& slab, Range views, const std::string& layout, std::array<std::size_t, 3> items) const;

 private:
  void weight(Slab& slab, Range views, Range pairs) const;
  std::string count_options() const;
  std::string weight_options() const;
  /// "raw" to "spectrum" in one kernel.
  void run_local(Slab& slab, Range views) const;
  std::vector<SlabArgument> weight_arguments(Slab& slab, Range views) const;

  FdkParameters parameters_;
  std::size_t raw_columns_, raw_rows_;
  FilteredRows rows_;
  Redundancy redundancy_;
  bool general_, cylinder_;                           // weighted by fdk_general.cl; from a cylindrical detector
  bool local_;                                        // filtered by fdk_rows.cl
  std::vector<float> filter_, weights_, beams_;       // the latter two: of the views in their order
  std::array<std::array<float, 4>, 2> correlations_;  // of pixels along u and v, see fdk_general.cl
  std::vector<Range> rows_read_;                      // a row, if resampled
};

}  // namespace halocline
