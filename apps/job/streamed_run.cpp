#include "apps/job/streamed_run.hpp"

#include "apps/images/memory_files.hpp"
#include "apps/job/report.hpp"

namespace halocline {

std::optional<RunResult> run_streamed(
    Job& job, const StreamedRun& run,
    const std::function<RunResult(const VolumeSource& from, VolumeSink& to, const RunOptions& options)>& work) {
  const double input = is_on_device(run.input) ? 0 : grid_bytes(run.from), output = grid_bytes(run.to);
  const bool streamed = is_streamable(run.output);
  job.forecast(run.plan, input + (streamed ? 0 : output), streamed ? staged_bytes(output) : 0);
  if (job.dry_run()) return std::nullopt;
  const auto image = job.images().create(run.output, run.to, {});
  RunOptions options = job.run_options(run.rate);
  options.planned = run.plan;
  const auto source = job.images().take(run.input, &run.from);
  const RunResult result = job.timed(run.name, [&] { return work(*source, *image, options); });
  job.images().commit(*image);
  job.record(result, run.name);
  return result;
}

}  // namespace halocline
