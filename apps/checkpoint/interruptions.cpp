#include "apps/checkpoint/interruptions.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/checkpoint/checkpoint_file.hpp"
#include "host/system/error.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {

std::unique_ptr<Checkpoint> make_checkpoint(Job& job, const std::string& path, std::size_t state_bytes, bool resume) {
  if (path.empty()) return nullptr;
  job.output("--checkpoint", path);
  if (job.dry_run())
    job.print(fmt::format("  checkpoint: {}, twice while one replaces the other",
                          bytes_text(static_cast<double>(state_bytes))));
  auto checkpoint = std::make_unique<Checkpoint>(path);
  checkpoint->check(state_bytes, resume || job.dry_run());
  return checkpoint;
}

bool go_on_from(Job& job, Checkpoint& checkpoint) {
  if (!checkpoint.resume()) {
    tell_of_missing_checkpoint(checkpoint.path());
    return false;
  }
  spdlog::info("going on after {} iterations", *checkpoint.iterations());
  job.results()["resumed_after_iterations"] = *checkpoint.iterations();
  return true;
}

void finish_checkpoint(Job& job, Checkpoint* checkpoint, bool ended_early) {
  if (checkpoint == nullptr) return;
  if (ended_early && checkpoint->iterations())
    job.say(checkpoint->how_to_resume());
  else
    checkpoint->remove();
}

void require_an_iteration(const RunResult& run) {
  if (run.stopped_by == StoppedBy::interrupt && run.iterations == 0)
    throw Interrupted("interrupted before the first iteration: nothing was written, the input files are untouched");
}

}  // namespace halocline
