// Voxel-driven back-projection for parallel, fan and cone beam: the part that FDK and plain back-projection share, and
// the latter.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "algorithms/projectors/backproject_tile.hpp"
#include "algorithms/projectors/backprojection_method.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

struct BackprojectionParameters {
  /// Interpolate in the texture units (8-bit fractions on most GPUs) instead of in float32.
  bool hardware_interpolation = false;
  bool half_texels = false;  ///< there, of projections in half precision: faster, see VoxelDriven::Options
};

/// Option of kernels that keep values in half precision: they are multiplied by a power of two that brings `value` to
/// about 2^exponent, at most four times more or less. Empty: by 1.
std::string texel_scale(double value, int exponent);

/// Path of projections to the voxels. Arrays that it declares: "filtered", "volume", "matrices" and, with hardware
/// interpolation, "texture". Used by every BackprojectionMethod.
class VoxelDriven {
 public:
  struct Options {
    bool hardware_interpolation = false;
    bool half_texels = false;      ///< textures hold half precision (11 bits) where views share texels: twice as fast;
                                   ///< of variances, whose range is too wide, they do not
    double texel_unit = 1;         ///< what half precision holds where line integrals are 1: it is scaled to about 1
    bool distance_weight = false;  ///< 1/w^2, w = (SID - s)/SID, s towards the source (Feldkamp, Davis & Kress 1984)
    bool variance = false;         ///< squared weights and the variance of an interpolated value
    double correlation = 0;        ///< of neighbours in a row, for the variance
    /// Capabilities of the devices. The first changes no bit; the next two none beyond the rounding of coordinates.
    bool cpu = false;          ///< they are CPUs: detector columns in a row, or voxels in vectors
    bool texel_pairs = false;  ///< they have textures of two float32 channels, for views that share texels
    /// Exact interpolation reads through local memory; no bit changes. For GPUs, detectors of more than a row, and
    /// volumes whose axis k is the rotation axis; else it has no effect.
    std::optional<LocalTile> tile = std::nullopt;
    /// ... or from images of float32, of detectors up to so many pixels wide and high; no bit changes either.
    std::size_t image_side = 0;
    /// Views of a batch, by kernel; 0: as many as was fastest on an H200. No bit changes.
    int exact_batch = 0, image_batch = 0;
  };

  VoxelDriven(const Geometry& geometry, const Grid& projections, const Grid& grid, const Options& options);

  /// The views in the order in which they are taken, by number in the geometry.
  const std::vector<int>& order() const { return order_; }
  /// Adds sizes, arrays, kernels, detector_rows and batch_step.
  void declare(Requirements& requirements) const;
  /// Throws InputError if projections are to be images and the device cannot hold them.
  void check_device(const DeviceInfo& device) const;
  /// Matrices.
  void start(Slab& slab) const;
  /// Options of a kernel that stores into "filtered" (filtered.clh), and its work-items.
  const std::string& layout_options() const { return layout_options_; }
  std::array<std::size_t, 3> filtered_items(const Slab& slab, Range views) const;
  /// Copies "filtered", once it is written, to where accumulate() reads it.
  void filtered(Slab& slab, Range views) const;
  void accumulate(Slab& slab, Range views, Range slices) const;

 private:
  enum class Layout { quads, columns, texels };

  Grid projections_, grid_;
  Options options_;
  Layout layout_ = Layout::quads;
  int pack_ = 1;                   // views that share a texel
  bool fetched_ = false;           // Layout::texels: interpolation in float32
  bool lanes_ = false;             // Layout::quads: voxels in vectors, for CPUs
  std::optional<LocalTile> tile_;  // Layout::columns: through local memory
  int axial_ = 2;                  // Layout::columns, for CPUs: the axis along which U and W do not change
  std::vector<int> order_;
  std::vector<float> matrices_;  // 12 a view, in that order
  std::string layout_options_;
  KernelSpec kernel_;
  std::function<Range(Range)> detector_rows_;
};

/// Chooses quads in models for problems of one size (models_for()) where one of the devices of the ranks, which they
/// are of, computes the form wrongly that would be taken.
void check_exact_form(std::vector<DeviceModel>& models, const std::vector<Device>& devices, Ranks& all);

/// models_of_all() for problems of this size, without the forms that one of the devices computes wrongly.
std::vector<DeviceModel> checked_budgets(const std::vector<Device>& devices, const Grid& projections, const Grid& grid,
                                         const PlanOptions& options = {});

/// Sets VoxelDriven::Options that all the devices can take, as tuned for problems of this size.
void set_device_options(VoxelDriven::Options& options, std::span<const DeviceModel> devices, const Grid& projections,
                        const Grid& grid);

/// Detector rows that the slices need for bilinear interpolation, by projecting the range's corner voxels in all views:
/// even begin, even or last end, at least 32 (fewer only if the detector has fewer); all rows if a corner is not in
/// front of the source. The range's corners are moved out by `reach` voxels along i, j, k.
std::function<Range(Range)> detector_rows_of(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                             const std::array<double, 3>& reach = {});

/// Detector rows whose rays may come as near as `reach` voxels to the centres of the slices, along i, j, k: perhaps
/// none; all rows if a corner of the slices is not in front of the source.
std::function<Range(Range)> crossed_rows_of(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                            std::array<double, 3> reach);

/// Unfiltered back-projection: each voxel is the sum over the views of the projection at the point that it casts,
/// interpolated bilinearly, zero outside the detector. No weights.
class Backprojection : public BackprojectionMethod {
 public:
  Backprojection(const Geometry& geometry, const Grid& projections, const Grid& grid,
                 const VoxelDriven::Options& options = {});
  Requirements requirements() const override;
  std::vector<int> order() const override { return voxels_.order(); }
  void check_device(const DeviceInfo& device) const { voxels_.check_device(device); }
  void start(Slab& slab) const override;
  void filter(Slab& slab, Range views, const Scalars& scalars) const override;
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override;

 private:
  Grid projections_;
  VoxelDriven voxels_;
};

/// Throws InputError as check_projections and check_grid do, PlanError, ClError, BuildError, Interrupted.
RunResult backproject(const Volume& projections, const Geometry& geometry, const Grid& grid,
                      const BackprojectionParameters& parameters, const std::vector<Device>& devices,
                      const RunOptions& options = {});
/// Back-projects from and to wherever the voxels are stored; RunResult::output stays empty. Values are not examined.
RunResult backproject_into(const VolumeSource& projections, const Geometry& geometry, VolumeSink& volume,
                           const BackprojectionParameters& parameters, const std::vector<Device>& devices,
                           const RunOptions& options = {});

/// Plan of backproject().
Plan plan_backproject(const Geometry& geometry, const Grid& projections, const Grid& grid,
                      const BackprojectionParameters& parameters, const std::vector<DeviceModel>& models,
                      const PlanOptions& options = {});

}  // namespace halocline
