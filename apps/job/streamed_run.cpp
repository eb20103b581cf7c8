#include "apps/job/streamed_run.hpp"

#include "apps/images/image_file.hpp"
#include "apps/images/memory_files.hpp"
#include "apps/job/report.hpp"
#include "scheduling/planning/rank_rows.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

std::optional<RunResult> run_streamed(
    Job& job, const StreamedRun& run,
    const std::function<RunResult(const VolumeSource& from, VolumeSink& to, const RunOptions& options)>& work) {
  // Projections, of which this rank's slabs see some rows. Values that become 0 are counted in all of them.
  const bool by_rows = ranks().several() && run.plan.requirements.form == ProgramForm::voxel_sums &&
                       !job.common().allow_nonfinite && is_read_in_pieces(run.input);
  const Range rows = rows_seen_here(run.plan);
  const double part = by_rows ? static_cast<double>(rows.count()) / static_cast<double>(run.from.size[1]) : 1,
               input = is_on_device(run.input) ? 0 : part * grid_bytes(run.from), output = grid_bytes(run.to);
  const bool streamed = is_streamable(run.output);
  job.forecast(run.plan, input + (streamed ? 0 : output), streamed ? staged_bytes(output) : 0);
  if (job.dry_run()) return std::nullopt;
  const auto image = job.images().create(run.output, run.to, {});
  RunOptions options = job.run_options(run.rate);
  options.planned = run.plan;
  const auto source =
      by_rows ? job.images().hold_rows(std::make_unique<PlacedSource>(job.images().open(run.input), run.from), rows)
              : job.images().take(run.input, &run.from);
  const RunResult result = job.timed(run.name, [&] { return work(*source, *image, options); });
  job.images().commit(*image);
  job.record(result, run.name);
  return result;
}

}  // namespace halocline
