// halocline fdk
#include "algorithms/fdk/fdk.hpp"

#include <fmt/format.h>

#include <memory>

#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/commands/fdk_checkpoint.hpp"
#include "apps/commands/fdk_frame.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/job/report.hpp"
#include "apps/options/output_type.hpp"
#include "host/opencl/fft.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {
namespace {

void report_scan(Job& job, const FdkCommand& command, const FdkWork& work) {
  job.results().update({{"grid", grid_json(work.grid)},
                        {"projections", grid_json(work.stack)},
                        {"views", work.stack.size[2]},
                        {"frames", work.frames.size()},
                        {"beam", work.beam()},
                        {"unit", command.unit()}});
  if (command.water) job.results()["water_per_mm"] = *command.water;
}

// Frame by frame. Returns how many voxels the type of the output could not hold.
std::size_t reconstruct_frames(const FdkScan& scan, OutputCheckpoint* checkpoint) {
  std::size_t clamped = checkpoint != nullptr ? checkpoint->clamped() : 0;
  const std::size_t first = checkpoint != nullptr ? checkpoint->frame() : 0;
  const FftKernels kernels;  // kernels of all frames
  resumable(checkpoint, [&] {
    for (std::size_t n = 0; n < scan.work.frames.size(); ++n) {
      if (n < first && is_there(scan.work.frames[n], scan.work.grid)) continue;
      OutputCheckpoint* const kept = n < first ? nullptr : checkpoint;
      if (kept != nullptr) kept->begin_frame(n, clamped);
      const std::size_t changed = reconstruct_frame(scan, n, kept);
      if (n >= first) clamped += changed;  // those of frames before were counted then
    }
  });
  return clamped;
}

void run_fdk(Job& job, FdkCommand& command) {
  take_fdk_options(command);
  const FdkWork work = prepare_fdk(job, command);
  const FdkPlans plans(job, command, work);
  plans.forecast();
  const auto checkpoint = make_checkpoint(job, command, work);
  if (job.dry_run()) {
    if (work.frames.size() > 1) job.print(fmt::format("and so for each of {} frames", work.frames.size()));
    return;
  }
  report_scan(job, command, work);
  FdkProjections projections(job, command, work, plans);
  if (checkpoint) begin_checkpoint(job, *checkpoint, command, work);
  const std::size_t clamped = reconstruct_frames({job, command, work, plans, projections}, checkpoint.get());
  if (checkpoint && ranks().first()) checkpoint->remove();  // that of all ranks
  report_clamping(job, work.storage, clamped, "--output-type float32");
}

}  // namespace

std::unique_ptr<Command> fdk_command() {
  auto sub = std::make_unique<Command>(
      "fdk", "Reconstruct a circular scan by filtered back-projection (Feldkamp, Davis & Kress)");
  auto command = std::make_shared<FdkCommand>();
  add_fdk_options(sub->settings, *command);
  sub->footer =
      "Example:\n  halocline fdk -i projections.mha --geometry geometry.xml --size 128,128,128 --spacing 1.5,1.5,1.5 "
      "-o volume.mha\n  halocline fdk -i 'scan/*.tif' --geometry scan.xtekct -o volume.mha";
  sub->on_ranks = true;
  sub->run = [command](Job& job) {
    take_white_level(job, command->counts, command->geometry, command->counts_arguments);
    run_fdk(job, *command);
  };
  return sub;
}

}  // namespace halocline
