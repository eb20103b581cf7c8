// The image of FDK, for methods of iterative reconstruction to begin with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/solvers/methods.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

struct FdkStart {
  std::optional<Volume> image = {};  ///< none where the scan is not one for FDK: then the method begins by itself
  std::string why_not = {};          ///< warning for that case
  RunResult run = {};                ///< that made the image
};

/// `projections`: line integrals (u, v, view). `parameters`: of the method that is to begin with it. Several ranks make
/// a part of the slices each, read the rows that those see, and all have the image. Throws as fdk_into() does, but for
/// InputError of a scan that cannot be reconstructed so.
FdkStart fdk_start(const VolumeSource& projections, const Geometry& geometry, const Grid& grid,
                   const ReconstructionParameters& parameters, const std::vector<Device>& devices,
                   const RunOptions& options = {});

/// Plan of fdk_start() for projections on `stack`; none where there is no image.
std::optional<Plan> plan_fdk_start(const Geometry& geometry, const Grid& stack, const Grid& grid,
                                   const ReconstructionParameters& parameters, const std::vector<DeviceModel>& models,
                                   const PlanOptions& options = {});

}  // namespace halocline
