// The image of FDK, for methods of iterative reconstruction to begin with.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/solvers/methods.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

struct FdkStart {
  std::unique_ptr<VolumeSource> image = {};  ///< none where the scan is not one for FDK: the method begins by itself
  std::string why_not = {};                  ///< warning for that case
  RunResult run = {};                        ///< that made the image, or its slices
};

/// `projections`: line integrals (u, v, view). `parameters`: of the method that is to begin with it. All ranks of the
/// options call this. slices: those that this rank makes now, on its devices, of the rows that they see; it makes the
/// others when one of them is read, for which projections and devices have to live. Throws as fdk_into() does, but for
/// InputError of a scan that cannot be reconstructed so.
FdkStart fdk_start(const VolumeSource& projections, const Geometry& geometry, const Grid& grid,
                   const ReconstructionParameters& parameters, const std::vector<Device>& devices,
                   const RunOptions& options, Range slices);

/// Plan of fdk_start() on this rank, for projections on `stack`; none where there is no image, or no slice.
std::optional<Plan> plan_fdk_start(const Geometry& geometry, const Grid& stack, const Grid& grid,
                                   const ReconstructionParameters& parameters, const std::vector<DeviceModel>& models,
                                   const PlanOptions& options, Range slices);

}  // namespace halocline
