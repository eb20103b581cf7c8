// Common base of the filters that others are compared with: one pass, no certificate.
#pragma once

#include "algorithms/denoisers/denoise_method.hpp"

namespace halocline {

/// A DenoiseMethod of one iteration that reads `reach` slices below and above; then ||u - f||_2 is summed. Input "f",
/// result "u".
class Filter : public DenoiseMethod {
 public:
  Requirements requirements() const override;
  void start(Slab&) const override {}
  int next_reduction(int done) const override { return done < 1 ? 1 : done + 1; }
  void reduce(Slab& slab, int done, Range interior) const override;
  bool reduced(int done, std::span<const double> sums) override;

 protected:
  Filter(std::string name, const MethodParameters& parameters, const std::array<int, 3>& reach);

  /// `radius` along the axes that have more than one voxel, 0 along the others.
  static std::array<int, 3> along_axes(const std::array<std::size_t, 3>& size, int radius);

  /// A work-item a voxel, or on CPUs one for LANES voxels of a row.
  void launch_rows(Slab& slab, const KernelSpec& spec, Range slices, const std::vector<SlabArgument>& arguments) const;

  // Members for filters that read a window of voxels: the array "padded", f with its faces' values repeated beyond
  // them, reach[0] and reach[1] voxels wide, and rows padded to a multiple of the lanes. cl/filter.clh reads it.
  void declare_padded(Requirements& need) const;
  /// Fills "padded" on `slices`.
  void pad(Slab& slab, Range slices) const;
  /// Launches over core with the arguments (in("padded"), out("u"), nx, ny, nz, offset, begin, end, pitch, rows) and
  /// those given; PAD_X and PAD_Y are defined, and LANES_PER_ITEM where the device is a CPU.
  void launch_on_padded(Slab& slab, const std::string& file, const std::string& kernel, Range core,
                        const std::string& options, const std::vector<SlabArgument>& more) const;

  std::string name_;
  MethodParameters parameters_;
  std::array<int, 3> reach_;
  SliceSums sums_;

 private:
  std::size_t pitch() const;
  std::size_t rows() const { return parameters_.size[1] + 2 * static_cast<std::size_t>(reach_[1]); }
};

}  // namespace halocline
