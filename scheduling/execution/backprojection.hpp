// Methods that build a volume up from projections (FDK and its variance), and the runner that takes them over slabs,
// batches and devices.
#pragma once

#include "host/device.hpp"
#include "host/volume.hpp"
#include "host/volume_source.hpp"
#include "scheduling/execution/run.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

/// Arrays by convention: "raw" (projections, input: a batch of rows_read() x views), "filtered" (projections, scratch:
/// what filter() leaves and accumulate() reads), "volume" (volume, output).
class BackprojectionMethod {
 public:
  virtual ~BackprojectionMethod() = default;
  virtual Requirements requirements() const = 0;
  /// Once a device, before its first slab: fills fixed arrays (filter, matrices). The runner sets the volume to 0.
  virtual void start(Slab& slab) const = 0;
  /// The views in the order in which filter() and accumulate() want them: what they call view n is order()[n]. Empty:
  /// as they lie.
  virtual std::vector<int> order() const { return {}; }
  /// Rows of the projections that "raw" holds of a slab's detector rows: others where filter() resamples them. "raw"
  /// then has room for all (ArrayNeed::rows).
  virtual Range rows_read(Range rows) const { return rows; }
  /// "raw" -> "filtered" for `views` (global numbers; the first lies first in the arrays) and the slab's rows.
  virtual void filter(Slab& slab, Range views) const = 0;
  /// Adds `views` to `slices` of the slab in their order, voxel by voxel, starting from the stored value.
  virtual void accumulate(Slab& slab, Range views, Range slices) const = 0;
};

/// Projections (u, v, view): `values` in host memory, in the type of the method's array "raw"; or, where that is
/// nullptr, of float32 from `source`, which is read as slabs want them, again for each.
struct ProjectionStack {
  Grid grid;
  const std::byte* values = nullptr;
  const VolumeSource* source = nullptr;
};

/// The plan of a run. Projections go to two arrays "raw" in turn, so that a batch is on its way while the one before is
/// filtered; devices that are not alike get several slabs each, so that whoever is free can take another's.
Plan plan_backprojection(const BackprojectionMethod& method, const std::vector<DeviceModel>& devices,
                         const PlanOptions& options = {});

/// The volume goes to `output`, in pieces, while the work goes on; RunResult::output stays empty. Slices that have
/// arrived there are not computed again when a device fails or memory runs out: RunResult then reports the rest.
RunResult run_backprojection(const BackprojectionMethod& method, const ProjectionStack& projections, VolumeSink& output,
                             const std::vector<Device>& devices, const RunOptions& options = {});
/// The same to a volume in host memory.
RunResult run_backprojection(const BackprojectionMethod& method, const ProjectionStack& projections, const Grid& grid,
                             const std::vector<Device>& devices, const RunOptions& options = {});
/// The same of float32.
RunResult run_backprojection(const BackprojectionMethod& method, const Volume& projections, const Grid& grid,
                             const std::vector<Device>& devices, const RunOptions& options = {});

}  // namespace halocline
