#include "algorithms/solvers/fdk_start.hpp"

#include <fmt/format.h>

#include "algorithms/fdk/fdk.hpp"
#include "host/system/error.hpp"

namespace halocline {

FdkStart fdk_start(const VolumeSource& projections, const Geometry& geometry, const Grid& grid,
                   const ReconstructionParameters& parameters, const std::vector<Device>& devices,
                   const RunOptions& options) {
  FdkParameters fdk;
  fdk.log_notes = false;
  fdk.redundancy.allow_incomplete_arc = solver_method(parameters.method).fdk;
  try {
    check_fdk(geometry, projections.grid(), grid, "the projections", "the geometry", fdk.redundancy);
    FdkStart start{Volume::uninitialised(grid), {}};
    MemorySink sink(*start.image);
    fdk_into(projections, projections.grid(), geometry, sink, fdk, devices, options);
    return start;
  } catch (const InputError& error) {
    return {std::nullopt,
            fmt::format("the iterations begin with a constant image, not with that of fdk, which would say: {}",
                        error.what())};
  }
}

}  // namespace halocline
