#include "apps/commands/fdk_checkpoint.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/job/job_checkpoint.hpp"
#include "apps/job/report.hpp"
#include "apps/options/geometry_file.hpp"
#include "scheduling/planning/plan_text.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {
namespace {

// The results of a frame by the names of the runs.
std::vector<std::string> results_of(const FdkWork& work) {
  std::vector<std::string> names{"fdk"};
  if (work.variance.variance) names.emplace_back("variance");
  for (std::size_t half = 0; half < work.frames.front().halves.size(); ++half) names.push_back(half_name(half));
  return names;
}

// All that the attenuations depend on; contents instead of the files that hold them. They are kept before they
// become CT numbers or another type.
nlohmann::json checkpoint_job(Job& job, const FdkCommand& command, const FdkWork& work) {
  auto result = options_of_bits(job, {"--input", "--geometry", "--like", "--flat", "--dark", "--bad-pixels"});
  // Frames that are finished have become what these say.
  if (work.frames.size() == 1)
    for (const char* name : {"--output", "--output-type", "--hu", "--variance-out", "--halves-out"}) result.erase(name);
  if (!command.filter.filter_file.empty()) result["--filter"] = command.filter.filter;
  result["grid"] = grid_json(work.grid);
  result["the grid of -i"] = grid_json(work.chosen.file);
  result["results"] = results_of(work);
  result["the contents of --geometry"] = checksum_text(geometry_checksum(command.geometry));
  const auto add = [&](const std::string& option, const std::string& path) {
    const std::string name = "the voxels of " + option;
    result[result.contains(name) ? name + " after" : name] =
        checksum_text(voxel_checksum(*job.images().open_rays(path), ranks()));
  };
  add("-i", command.input);
  for (const auto& [option, path] : field_files(command.counts_arguments)) add(option, path);
  return result;
}

}  // namespace

std::unique_ptr<OutputCheckpoint> make_checkpoint(Job& job, const FdkCommand& command, const FdkWork& work) {
  if (command.checkpoint.empty()) return nullptr;
  job.output("--checkpoint", command.checkpoint);
  auto checkpoint = std::make_unique<OutputCheckpoint>(command.checkpoint, work.grid, results_of(work));
  if (job.dry_run())
    job.print(fmt::format("  checkpoint: up to {}", bytes_text(static_cast<double>(checkpoint->most_bytes()))));
  checkpoint->check(command.resume || job.dry_run());
  return checkpoint;
}

void begin_checkpoint(Job& job, OutputCheckpoint& checkpoint, const FdkCommand& command, const FdkWork& work) {
  job.timed("checksums", [&] { checkpoint.set_job(checkpoint_job(job, command, work)); });
  if (!command.resume) return;
  if (!job.timed("checksums", [&] { return checkpoint.resume(); })) {
    note_missing_checkpoint(command.checkpoint);
    return;
  }
  spdlog::info("going on: {} are done", checkpoint.kept_text());
  job.results()["resumed_after_slices"] = checkpoint.slices();
  if (checkpoint.frame() > 0) job.results()["resumed_after_frames"] = checkpoint.frame();
}

bool is_there(const FdkFrame& frame, const Grid& grid) {
  for (const auto& path : {frame.output, frame.variance_output, frame.half_outputs[0], frame.half_outputs[1]})
    if (!path.empty() && !was_written(path, grid.size[2])) return false;
  return true;
}

}  // namespace halocline
