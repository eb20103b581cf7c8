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
  std::optional<Volume> image;  ///< none where the scan is not one for FDK: then the method begins by itself
  std::string why_not;          ///< warning for that case
};

/// `projections`: line integrals (u, v, view). `parameters`: of the method that is to begin with it. Throws as fdk()
/// does, but for InputError of a scan that cannot be reconstructed so.
FdkStart fdk_start(const VolumeSource& projections, const Geometry& geometry, const Grid& grid,
                   const ReconstructionParameters& parameters, const std::vector<Device>& devices,
                   const RunOptions& options = {});

}  // namespace halocline
