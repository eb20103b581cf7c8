// Time of back-projection for every shape of its work-groups.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "algorithms/projectors/scan_forms.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/execution/progress.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

using GroupShape = std::array<std::size_t, 3>;

/// Groups of a comma list such as "16x4,152x1"; "all": powers of two along both axes, no wider than a volume of
/// nx x ny voxels takes, from 32 work-items to `most`. Throws InputError that names `groups`.
std::vector<GroupShape> groups_of(const std::string& list, std::size_t most, std::size_t nx, std::size_t ny);

struct GroupTime {
  GroupShape group{};
  RunTimes times;       ///< of the kernel, over all views
  bool in_use = false;  ///< by default, or as tuned
};

struct ModeGroups {
  std::string mode, kernel;
  std::vector<GroupTime> times;
  std::vector<std::string> left_out;  ///< shapes that the device does not take for the kernel
  const GroupTime& fastest() const;
};

/// Measures one of scan_forms() with each of the groups and the one in use, each for so many seconds, three runs at
/// least. The device's tuning is afterwards as it was. Throws InputError where the form's groups have a shape of their
/// own or the device does not take the form, PlanError where it does not fit.
ModeGroups bench_groups(const Device& device, const ScanForm& form, const Scan& scan,
                        const std::vector<GroupShape>& groups, double seconds, const Progress& progress = {});

}  // namespace halocline
