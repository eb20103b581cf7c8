// Filtered back-projection of circular scans: cone beam (Feldkamp, Davis & Kress 1984), fan beam (a detector of one
// row) and parallel beam, and the noise variance of the result (Borsdorf et al. 2008).
#pragma once

#include <span>
#include <vector>

#include "algorithms/fdk/check_fdk.hpp"
#include "algorithms/fdk/fdk_filter.hpp"
#include "algorithms/fdk/fdk_parameters.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

/// f(x) = sum over views of gap/2 * SDD/SID * 1/du * [(p w K cos gamma) * h](u, v) / d^2, with the angular gap of each
/// view, the detector's pitch du, cos gamma = SDD/sqrt(SDD^2 + u^2 + v^2) and d = (SID - s)/SID for s towards the
/// source. u and v count from the foot of the perpendicular from the source. w shares the weight of rays measured twice
/// (Redundancy), K is 1 unless the detector is tilted about its rows or the source stands aside (fdk_general.cl).
/// Parallel beam: gap * 1/du * K [p * h](u, v). Rows that are not across the rotation axis are resampled (UprightRows).
/// The volume is in 1/mm.
class Fdk : public BackprojectionMethod {
 public:
  /// devices: those that run it; they decide the layout of projections in memory.
  Fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
      std::span<const DeviceModel> devices = {});
  Requirements requirements() const override;
  std::vector<int> order() const override { return voxels_.order(); }
  void check_device(const DeviceInfo& device) const { voxels_.check_device(device); }
  void start(Slab& slab) const override;
  void filter(Slab& slab, Range views, const Scalars& scalars) const override;
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override;
  Range rows_read(Range rows) const override { return filter_.rows_read(rows); }

 private:
  bool variance_;
  FdkFilter filter_;
  VoxelDriven voxels_;
};

/// The parameters with longest_local_rows set for the devices of these ranks. length: of the rows' transforms, where it
/// is known.
FdkParameters with_row_filter(const FdkParameters& parameters, const std::vector<Device>& devices,
                              std::optional<std::size_t> length = std::nullopt, Ranks& all = one_rank());

/// The program of fdk() in forms that all ranks of the options agree on, who call this together; it runs on the devices
/// of any of them. The parameters are checked (check_fdk()).
Program fdk_program(const Geometry& geometry, const Grid& projections, const Grid& grid,
                    const FdkParameters& parameters, const std::vector<Device>& devices, const PlanOptions& options);

/// Reconstructs `projections` (line integrals) on `grid`. Throws InputError as check_fdk does and for bad parameters,
/// PlanError, ClError, BuildError, Interrupted.
RunResult fdk(const Volume& projections, const Geometry& geometry, const Grid& grid, const FdkParameters& parameters,
              const std::vector<Device>& devices, const RunOptions& options = {});

/// Reconstructs projections in their own type, float32 or, for counts, uint16 (parameters.counts->stored is set here).
RunResult fdk(const TypedVolume& projections, const Geometry& geometry, const Grid& grid,
              const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options = {});

/// Reconstructs without a volume in host memory: finished slices go to `output`, whose grid they are on;
/// RunResult::output stays empty.
RunResult fdk_into(const TypedVolume& projections, const Geometry& geometry, VolumeSink& output,
                   const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options = {});

/// Reconstructs without projections in host memory: float32 values are read from `projections` as they are uploaded,
/// for each slab those of its detector rows. `stack`: their grid.
RunResult fdk_into(const VolumeSource& projections, const Grid& stack, const Geometry& geometry, VolumeSink& output,
                   const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options = {});

/// Plan of fdk().
Plan plan_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
              const std::vector<DeviceModel>& models, const PlanOptions& options = {});

}  // namespace halocline
