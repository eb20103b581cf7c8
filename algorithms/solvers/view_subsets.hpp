// Ordered subsets of the views: each subset has views that are spread over all gantry angles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/planning/range.hpp"

namespace halocline {

/// Subset s has the views s, s + S, s + 2 S, ... of `views`, S at most `views` (Hudson & Larkin 1994). Sorted by subset
/// they are one range each, so programs of solvers that use subsets work on the sorted stack.
class ViewSubsets {
 public:
  /// Throws InputError (`subsets`) if `subsets` is below 1 or above `views`. They need not divide the views.
  ViewSubsets(int views, int subsets);

  /// All views as one subset, in this order.
  explicit ViewSubsets(std::vector<int> order);

  int count() const { return static_cast<int>(begins_.size()) - 1; }
  /// Views of subset s, in the sorted stack.
  Range range(int s) const;
  /// True if the sorted stack is the scan's.
  bool as_scanned() const { return std::is_sorted(order_.begin(), order_.end()); }
  /// Views of the largest subset.
  int largest() const;
  /// The view n of the sorted stack is view order()[n] of the scan.
  const std::vector<int>& order() const { return order_; }
  /// Subsets in bit-reversed order: neighbours in the order are far apart (Herman & Meyer 1993, simplified).
  std::vector<int> bit_reversed() const;
  /// The subsets of pass `pass` in an order that is drawn from (seed, pass) alone (Philox; Fisher & Yates).
  std::vector<int> permutation(std::uint64_t seed, std::uint64_t pass) const;

  /// The geometry of the sorted stack.
  Geometry sorted(const Geometry& geometry) const;

 private:
  std::vector<int> order_;
  std::vector<std::int64_t> begins_;
};

/// Views of `stack` in another order, or some of them, read view by view.
class SortedViews : public VolumeSource {
 public:
  /// View n is view order[n] of `stack`, which the caller keeps alive.
  SortedViews(const VolumeSource& stack, std::vector<int> order);
  const Grid& grid() const override { return grid_; }
  void read(std::size_t first, std::size_t count, float* to) const override;

 private:
  const VolumeSource& stack_;
  Grid grid_;
  std::vector<int> order_;
};

}  // namespace halocline
