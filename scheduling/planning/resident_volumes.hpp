// Choice of volumes that reside on the devices between jobs that pass them on.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// A float32 volume that one job makes and later ones read.
struct PassedVolume {
  std::string name;
  /// Name of the volume in each job that uses it, by the job's number. It takes memory from the first of them to the
  /// last.
  std::map<std::size_t, std::string> arrays;
};

/// The slices of a device, by its name.
struct DeviceShare {
  std::string device;
  Range slices;
};

struct ResidentVolumesPlan {
  std::set<std::string> resident;   ///< names; other volumes reside in host memory
  std::vector<DeviceShare> shares;  ///< of each of them, in order of slices
  std::vector<Plan> plans;          ///< of the jobs
};

/// Keeps volumes on the devices where every job still fits, none has to be streamed for it, and all jobs together take
/// no longer; drops the last ones first. Each device holds the slices that it works on in the last job. `jobs`: plan
/// each job with the given PlanOptions::on_devices and reserved. Throws what they throw without a resident volume.
ResidentVolumesPlan plan_resident_volumes(const std::vector<std::function<Plan(const PlanOptions&)>>& jobs,
                                          const std::vector<PassedVolume>& volumes);

}  // namespace halocline
