// A run from an image to an image, each read and written in pieces where its format lets.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "apps/job/job.hpp"

namespace halocline {

/// Bytes on the host of a file's voxels that pass through page-locked chunks (host/opencl/staging.hpp).
inline double staged_bytes(double voxels) {
  return std::min(voxels, static_cast<double>(64 << 20));
}

struct StreamedRun {
  std::string name;  ///< name of the stage, and of the run in the report
  std::string input, output;
  Grid from, to;
  Plan plan;
  WorkRate rate;
};

/// Forecasts the plan, runs `work` from the input to the output and records the run; nothing after a dry run.
std::optional<RunResult> run_streamed(
    Job& job, const StreamedRun& run,
    const std::function<RunResult(const VolumeSource& from, VolumeSink& to, const RunOptions& options)>& work);

}  // namespace halocline
