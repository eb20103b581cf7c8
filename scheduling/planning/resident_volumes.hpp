// Jobs one after the other that hand volumes on: which of these reside on the devices meanwhile.
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
  /// By the job's number, what the volume is called there. It takes memory from the first of them to the last.
  std::map<std::size_t, std::string> arrays;
};

/// The slices of a device, by its name.
struct DeviceShare {
  std::string device;
  Range slices;
};

struct ResidentVolumesPlan {
  std::set<std::string> resident;   ///< names; the other volumes lie in host memory
  std::vector<DeviceShare> shares;  ///< of each of them, in the order of slices
  std::vector<Plan> plans;          ///< of the jobs
};

/// Volumes reside there where every job still fits its devices, none has to be streamed that would not be without them,
/// and all jobs together take no longer. Where not all of them can, the last are the first to leave. Each device holds
/// the slices that it works on in the last job.
///
/// jobs: the plan of each, with PlanOptions::on_devices and reserved as they are given. Throws what they throw without
/// a resident volume.
ResidentVolumesPlan plan_resident_volumes(const std::vector<std::function<Plan(const PlanOptions&)>>& jobs,
                                          const std::vector<PassedVolume>& volumes);

}  // namespace halocline
