#include "apps/job/job_checkpoint.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "host/system/error.hpp"
#include "scheduling/planning/plan_text.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

nlohmann::json options_of_bits(const Job& job, std::initializer_list<const char*> others) {
  auto result = job.options();
  for (const char* name : {"--report", "--trace", "--quiet", "--log-level", "--dry-run", "--device", "--sub-devices",
                           "--device-memory", "--host-memory", "--no-tune", "--allow-nonfinite", "--checkpoint",
                           "--resume", "--scratch", "--html", "--html-size"})
    result.erase(name);
  for (const char* name : others) result.erase(name);
  result["the version of halocline"] = HALOCLINE_VERSION;
  return result;
}

void note_missing_checkpoint(const std::string& path) {
  spdlog::info("there is no '{}': the run starts from the beginning", path);
}

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
    note_missing_checkpoint(checkpoint.path());
    return false;
  }
  spdlog::info("going on after {} iterations", *checkpoint.iterations());
  job.results()["resumed_after_iterations"] = *checkpoint.iterations();
  return true;
}

void finish_checkpoint(Job& job, Checkpoint* checkpoint, bool ended_early) {
  if (checkpoint == nullptr || !ranks().first()) return;  // others leave the file to the first one
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
