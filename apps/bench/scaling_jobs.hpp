// Jobs of the bench of several devices: their inputs, their results, and a run of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/calibration/scan_loop.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/execution/run.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

/// Those that run unless others are named: "pdu", "tvgd", "fdk" (exact), "fdk-texture".
const std::vector<std::string>& usual_scaling_jobs();
/// All: denoisers, "fdk", "fdk-texture", "project", "backproject" (Joseph's adjoint), and the solvers of `reconstruct`
/// that iterate.
const std::vector<std::string>& scaling_jobs();
/// Iterations of a denoiser (60), passes of a solver (10); 0 of a job that does not iterate.
int usual_iterations(const std::string& job);
bool is_solver(const std::string& job);
bool is_denoiser(const std::string& job);
/// Throws InputError that names `jobs` unless all of these are known.
void check_scaling_jobs(const std::vector<std::string>& jobs);
/// True if no device without images can run it.
bool needs_images(const std::string& job);

/// Inputs and results of the jobs for one size, in host memory that has been touched.
class ScalingData {
 public:
  /// size: voxels along each edge, views, and pixels along each edge of the detector. times: so many times the slices,
  /// in the same field of view.
  ScalingData(std::size_t size, std::size_t times);

  struct Ran {
    Plan plan;
    double seconds = 0;
    std::uint64_t result = 0;  ///< with several ranks: a sum over the voxels that this one has made, and their places
  };
  /// A run by a plan of these options.
  Ran run(const std::string& job, const std::vector<Device>& devices, int iterations, const PlanOptions& options);
  /// Voxels times iterations; voxels times views, and passes of a solver.
  double updates(const std::string& job, int iterations) const;

 private:
  RunResult run_into(VolumeSink& sink, const std::string& job, const std::vector<Device>& devices, int iterations,
                     const RunOptions& options);
  RunResult denoise_once(VolumeSink& sink, const std::string& job, const std::vector<Device>& devices, int iterations,
                         const RunOptions& options);
  RunResult solve_once(VolumeSink& sink, const std::string& job, const std::vector<Device>& devices, int passes,
                       const RunOptions& options);
  const Volume& volume();
  const Volume& weights();
  const Volume& projections();
  float* result(const Grid& grid);

  Scan scan_;
  Grid cube_;
  Volume volume_, weights_, projections_;
  Voxels result_;
};

}  // namespace halocline
