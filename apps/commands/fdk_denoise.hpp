// halocline fdk --denoise: from projections to a denoised volume in one process. The volume, and with spdu its
// variances, remain on the devices between the jobs where they fit.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/jobs/denoise_settings.hpp"
#include "apps/job/job.hpp"
#include "host/volume/device_array.hpp"
#include "scheduling/planning/resident_volumes.hpp"

namespace halocline {

struct FdkDenoise : DenoiseSettings {
  /// The method is that of --denoise, which is empty if there is none.
  FdkDenoise() { parameters.method.clear(); }

  const Settings* settings = nullptr;        // those of the command
  std::string reference, truth, undenoised;  // paths; empty: none

  bool wanted() const { return !parameters.method.empty(); }
  /// True if it weights by the variances of the voxels.
  bool weighted() const { return parameters.method == "spdu"; }
};

/// --denoise, --undenoised, and those of `halocline denoise` that say how.
void add_fdk_denoise_options(Settings& settings, FdkDenoise& denoise);
/// Completes the parameters. Throws InputError that names the option where `halocline denoise` would.
void take_fdk_denoise(FdkDenoise& denoise);

/// The plans of the jobs that make a denoised volume, and what remains on the devices between them.
class DenoisedPlan {
 public:
  using FdkPlan = std::function<Plan(const PlanOptions&)>;
  /// fdk, variance: how these are planned; variance is empty where there is none to reconstruct.
  DenoisedPlan(Job& job, const FdkDenoise& denoise, const Grid& grid, const FdkPlan& fdk, const FdkPlan& variance);

  const Plan& fdk() const { return chosen_.plans.front(); }
  const Plan& denoise() const { return chosen_.plans.back(); }
  /// If there is a variance to reconstruct.
  const Plan& variance() const { return chosen_.plans[1]; }
  /// Bytes of host memory of volumes that do not remain on the devices.
  double spilled_bytes() const;
  /// All that the denoising holds there.
  double denoise_bytes(const FdkDenoise& denoise) const;
  /// A volume ("volume", "variance") for the jobs: on the devices, or spilled. Where a device turns out to have no
  /// memory for it, it is spilled.
  std::unique_ptr<DistributedArray> make(const std::string& name) const;

 private:
  std::vector<Device> devices_;
  Grid grid_;
  std::size_t volumes_ = 1;
  ResidentVolumesPlan chosen_;
};

/// Denoises `volume`, with `variance` (nullptr: none) as weights, into `output`. name: of the job in the report.
DenoiseResult denoise_reconstruction(Job& job, const FdkDenoise& denoise, const Plan& plan, DistributedArray& volume,
                                     DistributedArray* variance, VolumeSink& output, const std::string& name);
/// The text for the result's line, as `halocline denoise` prints it. Warns of doubtful results.
std::string report_denoising(Job& job, const FdkDenoise& denoise, const DenoiseResult& result, double voxels);

}  // namespace halocline
