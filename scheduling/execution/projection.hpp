// Methods that make projections of a volume, and the runner that takes them over view batches, slabs and devices.
#pragma once

#include "host/device.hpp"
#include "host/volume.hpp"
#include "host/volume_source.hpp"
#include "scheduling/execution/run.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

/// Each device has a plan of its own over the whole volume. Arrays by convention: "volume" (volume, input),
/// "projections" (projections, output; whole detector). Views are shared out among the devices; each takes its batches
/// over all slabs in order of slices.
class ProjectionMethod {
 public:
  virtual ~ProjectionMethod() = default;
  virtual Requirements requirements() const = 0;
  /// Fills fixed arrays (matrices).
  virtual void start(Slab& slab) const = 0;
  /// The views in the order in which project() wants them: what it calls view n is order()[n]. Empty: as they lie.
  virtual std::vector<int> order() const { return {}; }
  /// The volume's slices of the slab have just been put into "volume": makes what it needs of them in another form.
  virtual void loaded(Slab&) const {}
  /// Adds the part of the line integrals of `views` that lies in slab.interior() to "projections"; the runner has set
  /// them to 0 before the first slab.
  virtual void project(Slab& slab, Range views) const = 0;
};

/// The plan of a run. Batches go to two arrays "projections" in turn, so that one comes back while the next is
/// computed.
Plan plan_projection(const ProjectionMethod& method, const std::vector<DeviceModel>& devices,
                     const PlanOptions& options = {});

RunResult run_projection(const ProjectionMethod& method, const Volume& volume, const Grid& projections,
                         const std::vector<Device>& devices, const RunOptions& options = {});

}  // namespace halocline
