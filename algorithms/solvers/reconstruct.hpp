// Iterative reconstruction of a volume from its line integrals.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/methods.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/execution/program_run.hpp"

namespace halocline {

struct ReconstructionInputs {
  const VolumeSource* projections = nullptr;  ///< line integrals (u, v, view)
  const VolumeSource* weights = nullptr;      ///< of the rays: the inverse of their variance; nullptr: all are 1
  const VolumeSource* start = nullptr;        ///< the volume to begin with; nullptr: the method's
  const VolumeSource* reference = nullptr;    ///< of a guided penalty

  bool near_minimum = false;  ///< as GivenInputs says of `start`

  const VolumeSource* truth = nullptr;  ///< the volume that records have the error to; it changes no result

  GivenInputs given() const {
    return {weights != nullptr, start != nullptr, start != nullptr && near_minimum, truth != nullptr};
  }
};

/// Quantities that a method knows after so many passes; not a number where it has no such quantity.
struct ReconstructionRecord {
  double passes = 0;
  double residual;  ///< ||b - A x||, weighted if there are weights
  /// |A^T W (b - A x)|| / ||A^T W b||, 0 at the minimum of least squares: W the weights of the rays, for sirt 1 / (A
  /// 1). Methods that replace A^T use their replacement.
  double normal_residual;
  double primal, dual, gap, relative_gap;
  double seconds;         ///< since the run began, transfers and kernels that are built included
  double truth_rmse;      ///< ||x - truth|| / sqrt(voxels)
  double truth_relative;  ///< ||x - truth|| / ||truth||
};

struct ReconstructionResult {
  RunResult run;  ///< its iterations are subsets
  int subsets = 1;
  double residual = 0;     ///< as in the last record
  double projections = 0;  ///< the norm of b with the weights of residual
  double rays = 0;         ///< with a weight above 0
  double maximum = 0;      ///< maximum of the certificate
  /// The largest value of the truth; not a number without one.
  double truth_maximum = std::numeric_limits<double>::quiet_NaN();
  bool diverged = false;  ///< os-fista: it went back to the best image it had seen, and on without momentum
  std::vector<ReconstructionRecord> history;
};

/// Reconstructs by the method, to `output` (the inverse of the projections' unit of length). Voxels' parts of the
/// duality gap go to `gap_map` if it is not nullptr. Bitwise identical for any number of slabs and devices. Throws
/// InputError as project() and check_parameters() do, with method "fdk" as check_fdk() does, for weights of another
/// size, negative, not finite or all zero, for a truth of another size or not finite, PlanError, ClError, BuildError,
/// Interrupted.
ReconstructionResult reconstruct(const ReconstructionInputs& inputs, const Geometry& geometry, VolumeSink& output,
                                 ReconstructionParameters parameters, const std::vector<Device>& devices,
                                 const RunOptions& options = {}, VolumeSink* gap_map = nullptr);
/// Plan of reconstruct().
Plan plan_reconstruct(const Grid& projections, const Geometry& geometry, const Grid& volume,
                      ReconstructionParameters parameters, const GivenInputs& given,
                      const std::vector<DeviceModel>& devices, const PlanOptions& options = {});

}  // namespace halocline
