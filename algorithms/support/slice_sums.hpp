// Sums over the volume that are the same for every number of slabs and devices: a fixed tree in every slice on the
// device, the slices added in order in double by the executor.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "scheduling/planning/program.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

/// Choice of the kernels' twins; tests change it to reach those of other devices.
struct KernelVariants {
  bool fp64 = true;  // false: sums of float pairs even on devices that have float64
  bool gpu = false;  // true: the kernels for GPUs on CPUs, too
};

/// The host's side of cl/sums.clh and cl/reduce.cl, for methods that reduce `components` values.
class SliceSums {
 public:
  static constexpr std::size_t lanes = 64;  // LANES of cl/sums.clh

  /// beside: values a slice in "sums" behind the components, of other sums.
  SliceSums(const std::array<std::size_t, 3>& size, int components, KernelVariants variants = {}, int beside = 0);
  /// The same, with the largest of all values instead of their sum; NaN if one of them is.
  SliceSums of_largest() const;
  /// Sums of each segment of rows of views (rows_of_sum), of which ranks can have some.
  SliceSums of_views() const;
  /// The same components, the last ones in "sums", behind `before` values of others.
  SliceSums behind(int before) const;

  /// Adds the arrays "partials" (scratch) and "sums" to what a method declares.
  void declare(Requirements& requirements) const;
  /// Declares sums over projections, segment by segment of each view: "view_partials" and "view_sums", which later
  /// launches use under the names partials and sums (Slab::Names).
  void declare_views(Requirements& requirements) const;
  /// Launches `kernel` of `file`, which fills "partials" for `slices` with STORE_SUMS, with its arguments in
  /// order and more compiler options; then adds those up to "sums".
  void launch(Slab& slab, const std::string& file, const std::string& kernel, Range slices,
              const std::vector<SlabArgument>& arguments, const std::string& options = "") const;
  /// Launches the kernel where the first slice in the arrays is number `offset`.
  void launch(Slab& slab, const std::string& file, const std::string& kernel, Range slices, std::int32_t offset,
              const std::vector<SlabArgument>& arguments, const std::string& options = "") const;
  /// The largest voxel of each slice to "sums", by way of the array "largest" (declare_largest()).
  void largest(Slab& slab, const std::string& volume, Range slices) const;
  void declare_largest(Requirements& requirements) const;
  /// Work-items of a march along the rows on a GPU, each with `columns` along x and `depth` slices.
  struct March {
    int columns = 1;
    std::string options;  ///< options of the kernel
    std::array<std::size_t, 3> global{1, 1, 1}, group{1, 1, 1};
    std::size_t sets = 1;
  };
  March march(const DeviceInfo& device, Range slices, int depth) const;
  /// The rest of a launch: adds up the first `components` of `sets` partial sums a slice to "sums".
  void add_up(Slab& slab, Range slices, std::size_t sets, int components) const {
    add_up(slab, slices, slab.offset(), sets, components);
  }
  std::string fp64_option(const Slab& slab) const { return on_fp64(slab) ? "-D USE_FP64" : ""; }
  bool on_fp64(const Slab& slab) const { return variants_.fp64 && slab.device().fp64; }
  /// True if the kernels for CPUs run on this slab's device. They need no work-groups, so
  /// devices with small groups use them, too.
  bool on_cpu(const Slab& slab) const {
    return slab.device().max_work_group < lanes || (slab.device().cpu() && !variants_.gpu);
  }
  std::string lane_option(const Slab& slab) const { return on_cpu(slab) ? "-D LANES_PER_ITEM=64" : ""; }
  /// Segments of rows in a slice.
  std::size_t segments() const { return static_cast<std::size_t>(segments_); }
  /// Component `c` of what the executor added up.
  static double value(std::span<const double> sums, int c) { return sums[2 * c] + sums[2 * c + 1]; }

 private:
  std::size_t partials() const;
  void add_up(Slab& slab, Range slices, std::int32_t offset, std::size_t sets, int components) const;

  int components_, before_ = 0, values_;  // values: of a slice in "sums"
  std::string kind_;                      // option of kernels that find the largest
  std::size_t nx_;
  std::size_t groups_;        // groups of columns, on GPUs
  int segments_, parts_ = 1;  // parts: sums of a slice
  KernelVariants variants_;
};

}  // namespace halocline
