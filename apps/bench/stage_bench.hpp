// Time of each stage of a back-projection, or of FDK, from host to host.
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

struct CallStages {
  std::string mode;
  double first_call = 0;  ///< seconds of the first call in the process, which compiles or loads the kernels
  RunTimes call;          ///< of those after it
  /// Sums over the commands of the fastest call, which may overlap.
  double upload = 0;
  double filter = 0;  ///< fdk: weighting and filtering of rows, where one kernel does it with the layout
  double layout = 0, texture_copy = 0, kernel = 0, download = 0;
  double device = 0;  ///< in which any command ran
  double host() const { return call.least - device; }
};

/// Calls backproject(), or with_filter fdk(), `runs` times after the first call. form: of stage_modes(). Throws as
/// those do.
CallStages bench_stages(const Device& device, bool with_filter, const ScanForm& form, const Scan& scan, int runs);

}  // namespace halocline
