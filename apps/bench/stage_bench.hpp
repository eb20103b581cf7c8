// Time of each stage of a back-projection from host to host.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "algorithms/projectors/scan_forms.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

/// Modes of voxel-driven back-projection that a call may ask for.
const std::vector<std::string>& stage_modes();

struct BackprojectionStages {
  std::string mode;
  double first_call = 0;  ///< seconds of the first call in the process, which compiles or loads the kernels
  RunTimes call;          ///< of those after it
  /// Sums over the commands of the fastest call, which may overlap.
  double upload = 0, layout = 0, texture_copy = 0, kernel = 0, download = 0;
  double device = 0;  ///< from the first command's start to the last one's end
  double host() const { return call.least - device; }
};

/// Calls backproject() `runs` times after the first call. form: of stage_modes(). Throws as backproject() does.
BackprojectionStages bench_stages(const Device& device, const ScanForm& form, const Scan& scan, int runs);

}  // namespace halocline
