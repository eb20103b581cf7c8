// Iterative reconstruction of a volume from its line integrals.
#pragma once

#include <string>
#include <vector>

#include "algorithms/projectors/projector.hpp"
#include "host/volume_source.hpp"
#include "scheduling/execution/program_run.hpp"

namespace halocline {

struct ReconstructionParameters {
  std::string method = "sirt";  ///< of reconstruction_methods()
  int iterations = 0;           ///< 0: 100 of sirt, 12 of cgls
  Projector projector = Projector::joseph;
  double relaxation = 1;      ///< sirt: omega, between 0 and 2
  bool non_negative = false;  ///< sirt: no voxel below 0
  double tolerance = 0;       ///< cgls: ends where the gradient has become so small a part of the first; 0: never
};

struct ReconstructionResult {
  RunResult run;
  double residual = 0;     ///< ||b - A x||, 0 before the first iteration
  double projections = 0;  ///< ||b||
};

/// "sirt" and "cgls".
std::vector<std::string> reconstruction_methods();

/// x with A x = b in the sense of the method, from x = 0: `projections` b (u, v, view) are line integrals, the volume
/// (the inverse of their unit of length) goes to `output`. Bitwise identical for any number of slabs and devices.
/// Throws InputError as project() does and for parameters out of range, PlanError, ClError, BuildError, Interrupted.
ReconstructionResult reconstruct(const VolumeSource& projections, const Geometry& geometry, VolumeSink& output,
                                 const ReconstructionParameters& parameters, const std::vector<Device>& devices,
                                 const RunOptions& options = {});
/// What it would do.
Plan plan_reconstruct(const Grid& projections, const Geometry& geometry, const Grid& volume,
                      const ReconstructionParameters& parameters, const std::vector<DeviceModel>& devices,
                      const PlanOptions& options = {});

}  // namespace halocline
